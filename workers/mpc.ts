/** The operator command for mpc: `npm run mpc -- certificate`. */
import { runProgram } from '../src/cli/run-cli.ts'
import { composeIdentityOf } from '../src/compose/mpc-identity.ts'
import { mpcProgram } from '../src/mpc-wallets/mpc-program.ts'

await runProgram(mpcProgram(composeIdentityOf(process.env)), process)
