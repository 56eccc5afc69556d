/** Turns events into jobs. One leads; run a second one as a standby. */
import { startDispatcher } from '../src/compose/dispatcher.ts'
import { runProcess } from '../src/compose/run-process.ts'

await runProcess('dispatcher', startDispatcher, process.env)
