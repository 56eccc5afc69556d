/**
 * Holds one share of each joint key and signs with it together with others. One process for each party, on separate
 * machines.
 */
import { startMpcParty } from '../src/compose/mpc-party.ts'
import { runProcess } from '../src/compose/run-process.ts'

await runProcess(
  ({ mpc }) => `mpc-party-${mpc?.party?.number ?? 'unset'}`,
  (kernel, signal) => startMpcParty(kernel, signal),
  process.env,
)
