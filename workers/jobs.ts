/** The operator command for jobs: `npm run jobs -- failed`. */
import { runCommand } from '../src/compose/run-command.ts'
import { jobsCommand } from '../src/jobs/jobs-command.ts'

await runCommand(process.env, ({ jobs }) =>
  jobsCommand(process.argv.slice(2), {
    jobs,
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
  }),
)
