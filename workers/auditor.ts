/**
 * Signs the log on a schedule; the only process with the key for it. One leads; a second one takes over when it dies.
 */
import { startAuditor } from '../src/compose/auditor.ts'
import { runProcess } from '../src/compose/run-process.ts'

await runProcess('auditor', startAuditor, process.env)
