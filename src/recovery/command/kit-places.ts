/** The options that name a kit and the identities that open it. */
import { readFile } from 'node:fs/promises'
import { BadInput, type CliOption, type CliOptions } from '../../cli/command.ts'
import { listOf } from '../../cli/option-values.ts'
import { parseIdentities } from '../../keys/age.ts'
import { readKits } from '../kit/kit-directory.ts'
import { KitRefused } from '../kit/kit-refused.ts'
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
  {
    flags: '--signed-by <key>',
    description: 'the key that backup printed: refuse a kit that another key signed, or none',
    repeatable: true,
  },
]

const KIT_KEY = /^[0-9a-f]{64}$/

/** The keys of `--signed-by`. @throws BadInput */
export function readSignedBy(options: CliOptions): readonly string[] {
  const keys = listOf(options.signedBy)
  if (keys.every((key) => KIT_KEY.test(key))) return keys
  throw new BadInput('--signed-by must be 64 hex digits in lower case, as backup prints them')
}

/**
 * Opens the kit with the identities.
 *
 * @throws KitRefused when `--signed-by` names keys, and a manifest is not signed by one of them
 */
export async function openPlaces(options: CliOptions, stdin: Stdin): Promise<OpenedKit> {
  const { kit, identity } = options
  const trusted = readSignedBy(options)
  const found = await readKits(listOf(kit))
  for (const { manifest, signed } of trusted.length === 0 ? [] : found.origins) {
    if (signed.state === 'signed' && trusted.includes(signed.key)) continue
    throw new KitRefused(`${manifest} is not signed by a key that --signed-by names.`)
  }
  const identities: string[] = []
  for (const file of listOf(identity)) {
    const text = file === '-' ? await stdin() : await readFile(file, 'utf8')
    identities.push(...(await parseIdentities(text, file === '-' ? 'standard input' : file)))
  }
  return openKits(found, identities)
}
