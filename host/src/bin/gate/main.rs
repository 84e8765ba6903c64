use gatehost::runtime::*;
fn main() {
    let rt = Runtime::new(None).unwrap();
    let tk = tokio::runtime::Builder::new_multi_thread().enable_time().build().unwrap();
    let v = rt.load(&Source::named("json-syntax").unwrap(), &Grants::new()).unwrap();
    println!("{:?}", tk.block_on(rt.describe(&v)));
    let limits = Default::default();
    let t = Terms { settings: "{}", limits: &limits, workspace: None };
    println!("{:?}", tk.block_on(rt.check_file(&v, &t, "a.json", b"{}".to_vec())));
    println!("{:?}", tk.block_on(rt.check_file(&v, &t, "a.json", b"{,}".to_vec())));
    for _ in 0..5 {
        let n = 20000;
        let s = std::time::Instant::now();
        tk.block_on(async {
            for _ in 0..n {
                rt.check_file(&v, &t, "a.json", b"{}".to_vec()).await;
            }
        });
        println!("{:?} per call", s.elapsed() / n);
    }
}
