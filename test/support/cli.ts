/** Runs command lines in this process, not as a terminal. */
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { WriteStream } from 'node:tty'
import type { CliCommand, CliProgram } from '../../src/cli/command.ts'
import { runCli } from '../../src/cli/run-cli.ts'

export type CliRun = { readonly code: number; readonly out: string; readonly err: string }

/** Runs one command line of `npm run bursar`. @param args as in `runProgramLine` */
export function runCommandLine(commands: readonly CliCommand[], args: string | readonly string[]): Promise<CliRun> {
  return runProgramLine({ name: 'bursar', description: 'Commands under test.', commands }, args)
}

/** Runs one command line. @param args the arguments, or one line of arguments separated by single spaces */
export async function runProgramLine(program: CliProgram, args: string | readonly string[]): Promise<CliRun> {
  const out = new PassThrough()
  const err = new PassThrough()
  const said = Promise.all([text(out), text(err)])
  const words = typeof args === 'string' ? args.split(' ').filter(Boolean) : args
  const settings = {
    ...program,
    out: out as unknown as WriteStream,
    err: err as unknown as WriteStream,
    env: {},
  }
  const code = await runCli(settings, words).finally(() => {
    out.end()
    err.end()
  })
  const [told, noted] = await said
  return { code, out: told, err: noted }
}
