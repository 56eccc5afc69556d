/** The operator command for mpc: `npm run mpc -- certificate`. */
import { runProgram } from '../src/cli/run-cli.ts'
import { openIdentityOf } from '../src/compose/mpc-identity.ts'
import { mpcProgram } from '../src/mpc-wallets/mpc-program.ts'

await runProgram(
  mpcProgram((owner) => openIdentityOf(process.env, owner)),
  process,
)
