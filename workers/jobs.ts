/** The operator command for jobs: `npm run jobs -- failed`. */

import { runProgram } from '../src/cli/run-cli.ts'
import { withKernel } from '../src/compose/run-command.ts'
import { QUEUE_NAMES } from '../src/declarations.ts'
import { jobsProgram } from '../src/operator/jobs-program.ts'

await runProgram(
  jobsProgram((task) => withKernel(process.env, ({ jobs }) => task(jobs)), QUEUE_NAMES),
  process,
)
