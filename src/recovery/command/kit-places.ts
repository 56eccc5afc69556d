/** The options that name a kit and the identities that open it. */
import { readFile } from 'node:fs/promises'
import type { CliOption, CliOptions } from '../../cli/command.ts'
import { listOf } from '../../cli/option-values.ts'
import { parseIdentities } from '../../keys/age.ts'
import { readKits } from '../kit/kit-directory.ts'
import { type OpenedKit, openKits } from '../kit/open-kits.ts'

export type Stdin = () => Promise<string>

export const KIT_OPTIONS: readonly CliOption[] = [
  { flags: '--kit <dir>', description: 'the directory that holds kit.json', required: true, repeatable: true },
  {
    flags: '--identity <file>',
    description:
      'the age identity that opens the kit; - for standard input, as in "age -d identity.age | … --identity -"',
    required: true,
    repeatable: true,
  },
]

/** Opens the kit with the identities. */
export async function openPlaces({ kit, identity }: CliOptions, stdin: Stdin): Promise<OpenedKit> {
  const identities: string[] = []
  for (const file of listOf(identity)) {
    const text = file === '-' ? await stdin() : await readFile(file, 'utf8')
    identities.push(...(await parseIdentities(text, file === '-' ? 'standard input' : file)))
  }
  return openKits(await readKits(listOf(kit)), identities)
}
