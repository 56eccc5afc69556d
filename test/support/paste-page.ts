/** Runs the shell commands of a page of the documentation, as a reader would paste them. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'

export type PastedAnswer = { readonly status: string; readonly data: Record<string, unknown> }

/**
 * @param page in `docs`, such as `nft.md`: its `sh` blocks run one after the other
 * @param env what the page tells its reader to set
 * @param section the title of the only section of which they run; default is the whole page
 * @returns the JSON lines that the commands printed
 */
export async function pastePage(
  page: string,
  env: Readonly<Record<string, string>>,
  section?: string,
): Promise<PastedAnswer[]> {
  const whole = readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8')
  const text =
    section === undefined ? whole : (whole.split(/^## /m).find((part) => part.startsWith(`${section}\n`)) ?? '')
  const script = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) => block).join('\n')
  const options = { env: { PATH: process.env.PATH, ...env }, maxBuffer: 1 << 24 }
  const { stdout } = await promisify(execFile)('bash', ['-c', script], options)
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as PastedAnswer)
}
