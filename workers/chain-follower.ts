/** Follows the chains. One leads for each chain; run a second one as a standby. */
import { startChainFollower } from '../src/compose/chain-follower.ts'
import { runProcess } from '../src/compose/run-process.ts'

await runProcess('chain-follower', startChainFollower, process.env)
