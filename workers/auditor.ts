/** Signs the log on a schedule. Alone in holding the key that does. One leads; a second one takes over when it dies. */
import { startAuditor } from '../src/compose/auditor.ts'
import { runProcess } from '../src/compose/run-process.ts'

await runProcess('auditor', startAuditor, process.env)
