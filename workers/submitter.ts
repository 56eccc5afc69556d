/** Submits signed transactions to the network. Run any number. */
import { runProcess } from '../src/compose/run-process.ts'
import { startSubmitter } from '../src/compose/submitter.ts'

await runProcess('submitter', startSubmitter, process.env)
