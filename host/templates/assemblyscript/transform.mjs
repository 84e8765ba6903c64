// Gives the exports the names that the contract has for them, which cannot be written in AssemblyScript.
import { Transform } from 'assemblyscript/transform';

const NAMES = {
  describe: 'gatehost:verifier/about@0.1.0#describe',
  check_file: 'gatehost:verifier/file-verifier@0.1.0#check',
  check_submission: 'gatehost:verifier/submission-verifier@0.1.0#check',
};

export default class extends Transform {
  afterCompile(module) {
    for (const [name, instead] of Object.entries(NAMES)) {
      const internal = `src/verifier/${name}`;
      if (!module.getExport(name)) continue;
      module.removeExport(name);
      module.addFunctionExport(internal, instead);
    }
  }
}
