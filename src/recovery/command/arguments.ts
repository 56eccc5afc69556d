/** Parses the command line of `npm run recovery`; an invalid one is refused before anything is opened. */
import { isTenantId } from '../../core/tenants.ts'
import type { BackUpRequest } from '../kit/back-up.ts'
import { isPartName } from '../kit/format.ts'
import type { SweepRequest } from '../kit/sign-sweep.ts'
import { type Options, parseWords } from './options.ts'
import { parseSweep } from './sweep-arguments.ts'
import { WrongUsage } from './usage.ts'

/** The directories of a kit, and the identities that open it. */
export type KitPlaces = { readonly kits: readonly string[]; readonly identityFiles: readonly string[] }

export type RecoveryCommand =
  | { readonly name: 'help' }
  | { readonly name: 'keygen'; readonly json: boolean; readonly out: string }
  | { readonly name: 'backup'; readonly json: boolean; readonly request: BackUpRequest }
  | { readonly name: 'verify'; readonly json: boolean; readonly places: KitPlaces; readonly againstDatabase: boolean }
  | { readonly name: 'restore'; readonly json: boolean; readonly places: KitPlaces; readonly tenant: string | null }
  | { readonly name: 'sweep'; readonly json: boolean; readonly places: KitPlaces; readonly request: SweepRequest }

const SWEEP_OPTIONS = [
  ...['kit', 'identity', 'wallet', 'to', 'chain-id', 'nonce', 'gas-limit', 'max-fee-per-gas'],
  ...['max-priority-fee-per-gas', 'value', 'balance', 'token', 'amount', 'data', 'json'],
]

/** The options and arguments of each command; anything else is an error. */
const TAKES: Readonly<Record<string, readonly string[]>> = {
  keygen: ['out', 'json'],
  backup: ['out', 'recipient', 'part', 'tenant', 'force', 'json'],
  verify: ['kit', 'identity', 'against-database', 'json'],
  restore: ['kit', 'identity', 'tenant', 'json'],
  sweep: SWEEP_OPTIONS,
}

/** @throws WrongUsage with a message of one line */
export function parseRecoveryArguments(args: readonly string[]): RecoveryCommand {
  const { values: options, positionals } = parseWords(args)
  const [name = '', ...words] = positionals
  if (options.help || name === 'help') return { name: 'help' }
  const takes = TAKES[name]
  if (takes === undefined) {
    const commands = Object.keys(TAKES).join(', ')
    throw new WrongUsage(name === '' ? `no command given: ${commands}` : `unknown command: ${name}`)
  }
  const stray = Object.keys(options).find((option) => !takes.includes(option))
  if (stray !== undefined) throw new WrongUsage(`${name} has no option --${stray}`)
  if (words.length > 0) throw new WrongUsage(`${name} takes only options, not "${words.join(' ')}"`)
  const json = options.json ?? false
  switch (name) {
    case 'keygen':
      return { name, json, out: required(options.out, '--out FILE', 'the file to write the identity to') }
    case 'backup':
      return { name, json, request: parseBackUp(options) }
    case 'verify':
      return { name, json, places: parsePlaces(options), againstDatabase: options['against-database'] ?? false }
    case 'restore':
      return { name, json, places: parsePlaces(options), tenant: parseTenant(options) }
    default:
      return { name: 'sweep', json, places: parsePlaces(options), request: parseSweep(options) }
  }
}

function parseTenant({ tenant }: Options): string | null {
  if (tenant === undefined) return null
  if (!isTenantId(tenant)) throw new WrongUsage('--tenant must be a tenant name')
  return tenant
}

function parseBackUp(options: Options): BackUpRequest {
  const { out, recipient = [], part, force = false } = options
  if (recipient.length === 0) {
    throw new WrongUsage(
      '--recipient is missing: give the recipient whose identity will open the kit, as keygen and age-keygen print it',
    )
  }
  const unknown = part?.find((name) => !isPartName(name))
  if (unknown !== undefined) throw new WrongUsage(`--part must be hd or party-N, such as party-1, not ${unknown}`)
  return {
    out: required(out, '--out DIR', 'the directory to write the kit to'),
    recipients: [...new Set(recipient)],
    parts: part === undefined ? null : [...new Set(part)],
    tenant: parseTenant(options),
    force,
  }
}

function parsePlaces({ kit = [], identity = [] }: Options): KitPlaces {
  if (kit.length === 0) throw new WrongUsage('--kit DIR is missing: the directory that holds kit.json')
  if (identity.length === 0) throw new WrongUsage('--identity FILE is missing: the age identity that opens the kit')
  return { kits: kit, identityFiles: identity }
}

function required(value: string | undefined, option: string, what: string): string {
  if (value === undefined || value === '') throw new WrongUsage(`${option} is missing: ${what}`)
  return value
}
