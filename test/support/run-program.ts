/** A built process or command that is expected to end. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

export type Ended = { readonly code: number | null; readonly out: string; readonly complaint: string }

type Settings = Readonly<Record<string, string>>

/** @param program its name in dist/bin, with its arguments: `keys list` */
export function runToItsEnd(program: string, env: Settings): Promise<Ended> {
  const [name, ...args] = program.split(' ')
  return run([fileURLToPath(new URL(`../../dist/bin/${name}.js`, import.meta.url)), ...args], env)
}

/** @param script the text of a module */
export function runScriptToItsEnd(script: string, env: Settings): Promise<Ended> {
  return run(['--input-type=module', '--eval', script], env)
}

async function run(args: readonly string[], env: Settings): Promise<Ended> {
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [out, complaint, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
  return { code, out, complaint }
}
