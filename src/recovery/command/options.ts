/** Splits a command line with Node's `parseArgs`, and declares all options. */
import { parseArgs } from 'node:util'
import { WrongUsage } from './usage.ts'

const OPTIONS = {
  out: { type: 'string' },
  recipient: { type: 'string', multiple: true },
  part: { type: 'string', multiple: true },
  tenant: { type: 'string' },
  force: { type: 'boolean' },
  kit: { type: 'string', multiple: true },
  identity: { type: 'string', multiple: true },
  'against-database': { type: 'boolean' },
  wallet: { type: 'string' },
  to: { type: 'string' },
  'chain-id': { type: 'string' },
  nonce: { type: 'string' },
  'gas-limit': { type: 'string' },
  'max-fee-per-gas': { type: 'string' },
  'max-priority-fee-per-gas': { type: 'string' },
  value: { type: 'string' },
  balance: { type: 'string' },
  token: { type: 'string' },
  amount: { type: 'string' },
  data: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean' },
} as const
export type Options = ReturnType<typeof parseWords>['values']

/** @throws WrongUsage for an unknown option */
export function parseWords(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options: OPTIONS })
  } catch (error) {
    throw new WrongUsage(error instanceof Error ? error.message : String(error))
  }
}
