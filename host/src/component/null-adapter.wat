;; WASI preview 1 for a module that must not have it: nothing here reaches outside the component.
;;
;; A C library or a language's runtime asks for these functions in order to start. It gets an empty environment, no
;; files, a clock that stands still and a fixed sequence for random numbers. What it prints becomes log lines; since
;; a log line must be UTF-8 and what is printed need not be, whatever is not ASCII is left out of them.
;; Functions that the module does not import are removed when the component is made.
(module
  (import "env" "memory" (memory 0))
  (import "gatehost:verifier/log@VERSION" "write" (func $log (param $severity i32) (param $text i32) (param $length i32)))

  ;; 2026-01-01T00:00:00Z in nanoseconds, as the host tells it: some runtimes take zero for a broken clock.
  (global $now i64 (i64.const 1767225600000000000))
  (global $random (mut i64) (i64.const 0x9E3779B97F4A7C15))

  (func $none_of_none (param $count i32) (param $bytes i32) (result i32)
    (i32.store (local.get $count) (i32.const 0))
    (i32.store (local.get $bytes) (i32.const 0))
    (i32.const 0))
  (export "args_sizes_get" (func $none_of_none))
  (export "environ_sizes_get" (func $none_of_none))
  (func (export "args_get") (param i32 i32) (result i32) (i32.const 0))
  (func (export "environ_get") (param i32 i32) (result i32) (i32.const 0))

  (func (export "clock_res_get") (param $clock i32) (param $out i32) (result i32)
    (i64.store (local.get $out) (i64.const 1))
    (i32.const 0))
  (func (export "clock_time_get") (param $clock i32) (param $precision i64) (param $out i32) (result i32)
    (i64.store (local.get $out) (global.get $now))
    (i32.const 0))

  ;; Xorshift: the same bytes in every call of the verifier.
  (func (export "random_get") (param $at i32) (param $left i32) (result i32)
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $left)))
        (global.set $random (i64.xor (global.get $random) (i64.shl (global.get $random) (i64.const 13))))
        (global.set $random (i64.xor (global.get $random) (i64.shr_u (global.get $random) (i64.const 7))))
        (global.set $random (i64.xor (global.get $random) (i64.shl (global.get $random) (i64.const 17))))
        (i64.store8 (local.get $at) (global.get $random))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (local.set $left (i32.sub (local.get $left) (i32.const 1)))
        (br $next)))
    (i32.const 0))

  ;; One log line for each run of ASCII within a line.
  (func $print (param $severity i32) (param $at i32) (param $end i32)
    (local $start i32) (local $byte i32)
    (local.set $start (local.get $at))
    (block $done
      (loop $next
        (local.set $byte (i32.const 10))
        (if (i32.lt_u (local.get $at) (local.get $end))
          (then (local.set $byte (i32.load8_u (local.get $at)))))
        (if (i32.or (i32.eq (local.get $byte) (i32.const 10)) (i32.ge_u (local.get $byte) (i32.const 0x80)))
          (then
            (if (i32.gt_u (local.get $at) (local.get $start))
              (then
                (call $log (local.get $severity) (local.get $start)
                  (i32.sub (local.get $at) (local.get $start)))))
            (local.set $start (i32.add (local.get $at) (i32.const 1)))))
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $next))))

  ;; Standard output is `info`, standard error is `warn`; any other file is not open.
  (func (export "fd_write") (param $fd i32) (param $pieces i32) (param $left i32) (param $out i32) (result i32)
    (local $written i32) (local $at i32) (local $length i32)
    (if (i32.gt_u (i32.sub (local.get $fd) (i32.const 1)) (i32.const 1))
      (then (return (i32.const 8))))
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $left)))
        (local.set $at (i32.load (local.get $pieces)))
        (local.set $length (i32.load offset=4 (local.get $pieces)))
        (call $print (local.get $fd) (local.get $at) (i32.add (local.get $at) (local.get $length)))
        (local.set $written (i32.add (local.get $written) (local.get $length)))
        (local.set $pieces (i32.add (local.get $pieces) (i32.const 8)))
        (local.set $left (i32.sub (local.get $left) (i32.const 1)))
        (br $next)))
    (i32.store (local.get $out) (local.get $written))
    (i32.const 0))

  ;; Standard input is at its end.
  (func (export "fd_read") (param $fd i32) (param i32 i32) (param $out i32) (result i32)
    (if (local.get $fd) (then (return (i32.const 8))))
    (i32.store (local.get $out) (i32.const 0))
    (i32.const 0))

  ;; The three standard streams are there, as character devices without rights that matter.
  (func (export "fd_fdstat_get") (param $fd i32) (param $out i32) (result i32)
    (if (i32.gt_u (local.get $fd) (i32.const 2)) (then (return (i32.const 8))))
    (i64.store (local.get $out) (i64.const 2))
    (i64.store offset=8 (local.get $out) (i64.const -1))
    (i64.store offset=16 (local.get $out) (i64.const 0))
    (i32.const 0))

  ;; Nothing is waited for: every event has happened.
  (func (export "poll_oneoff") (param $in i32) (param $events i32) (param $count i32) (param $out i32) (result i32)
    (i32.store (local.get $out) (local.get $count))
    (i32.const 0))
  (func (export "sched_yield") (result i32) (i32.const 0))

  ;; Whoever wants to end has no verdict.
  (func (export "proc_exit") (param i32) (unreachable))
  (func (export "proc_raise") (param i32) (result i32) (unreachable))

  ;; No other file is open (8), and there are no sockets.
  (func $of_1 (param i32) (result i32) (i32.const 8))
  (export "fd_close" (func $of_1))
  (export "fd_datasync" (func $of_1))
  (export "fd_sync" (func $of_1))
  (func $of_2 (param i32 i32) (result i32) (i32.const 8))
  (export "fd_fdstat_set_flags" (func $of_2))
  (export "fd_filestat_get" (func $of_2))
  (export "fd_prestat_get" (func $of_2))
  (export "fd_renumber" (func $of_2))
  (export "fd_tell" (func $of_2))
  (export "sock_shutdown" (func $of_2))
  (func $of_3 (param i32 i32 i32) (result i32) (i32.const 8))
  (export "fd_prestat_dir_name" (func $of_3))
  (export "path_create_directory" (func $of_3))
  (export "path_remove_directory" (func $of_3))
  (export "path_unlink_file" (func $of_3))
  (export "sock_accept" (func $of_3))
  (func $of_5 (param i32 i32 i32 i32 i32) (result i32) (i32.const 8))
  (export "path_filestat_get" (func $of_5))
  (export "path_symlink" (func $of_5))
  (export "sock_send" (func $of_5))
  (func $of_6 (param i32 i32 i32 i32 i32 i32) (result i32) (i32.const 8))
  (export "path_readlink" (func $of_6))
  (export "path_rename" (func $of_6))
  (export "sock_recv" (func $of_6))
  (func (export "fd_advise") (param i32 i64 i64 i32) (result i32) (i32.const 8))
  (func (export "fd_allocate") (param i32 i64 i64) (result i32) (i32.const 8))
  (func (export "fd_fdstat_set_rights") (param i32 i64 i64) (result i32) (i32.const 8))
  (func (export "fd_filestat_set_size") (param i32 i64) (result i32) (i32.const 8))
  (func (export "fd_filestat_set_times") (param i32 i64 i64 i32) (result i32) (i32.const 8))
  (func $at_an_offset (param i32 i32 i32 i64 i32) (result i32) (i32.const 8))
  (export "fd_pread" (func $at_an_offset))
  (export "fd_pwrite" (func $at_an_offset))
  (func (export "fd_readdir") (param i32 i32 i32 i64 i32) (result i32) (i32.const 8))
  (func (export "fd_seek") (param i32 i64 i32 i32) (result i32) (i32.const 8))
  (func (export "path_filestat_set_times") (param i32 i32 i32 i32 i64 i64 i32) (result i32) (i32.const 8))
  (func (export "path_link") (param i32 i32 i32 i32 i32 i32 i32) (result i32) (i32.const 8))
  (func (export "path_open") (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32) (i32.const 8)))
