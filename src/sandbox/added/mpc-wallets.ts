/** The parties of joint keys: separate processes, each with its own directory and key, on fixed ports. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from 'pg'
import { printText } from '../../cli/printed.ts'
import type { Config } from '../../config.ts'
import type { MpcConfig } from '../../mpc-wallets/settings.ts'
import { MPC_KEYS } from '../../mpc-wallets/sql.ts'
import type { AddedSettings, Addition } from '../addition.ts'
import { keptPort } from '../ports.ts'
import { step } from '../steps.ts'

const LOOK_MS = 250
/** The parties take some seconds; if they take longer, everything else must be usable. */
const TIMEOUT_MS = 90_000

export const mpcWallets: Addition = {
  isOn: ({ mpc }) => mpc !== null,
  settings: planParties,
  ready: (pool, { mpc }) => awaitFirstKey(pool, mpc),
  trying: `
  # an mpc wallet: three parties hold shares of its key, and two of them sign together
  api $URL/v1/wallets/create -d '{"type":"mpc","network":"ethereum","label":"shared","environment":"mainnet"}'
`,
}

/** Every process gets the addresses of the parties. */
async function planParties({ mpc, dataDir }: Config): Promise<AddedSettings> {
  const directory = join(dataDir, 'mpc')
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const numbers = Array.from({ length: mpc?.parties ?? 0 }, (_, index) => index + 1)
  const addresses: string[] = []
  for (const number of numbers) {
    addresses.push(`${number}=127.0.0.1:${await keptPort(join(directory, `party-${number}.port`))}`)
  }
  return {
    env: { MPC_PARTY_ADDRESSES: addresses.join(',') },
    secrets: {},
    numbered: {
      'mpc-party': numbers.map((number) => ({ name: `mpc-party-${number}`, env: { MPC_PARTY: String(number) } })),
    },
  }
}

/**
 * Waits until the pool has a joint key, so that the first mpc wallet of a new sandbox is ready immediately. Does nothing when the pool
 * is turned off. Never rejects: an mpc wallet can be requested without a pooled key.
 */
export async function awaitFirstKey(
  pool: Pool,
  mpc: Pick<MpcConfig, 'threshold' | 'parties' | 'poolSize'> | null,
  timeoutMs = TIMEOUT_MS,
): Promise<void> {
  if (mpc === null || mpc.poolSize === 0) return
  try {
    await step('first mpc key', () => untilKeyAhead(pool, mpc, timeoutMs))
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    printText(process.stdout, `  ! ${why}: the first mpc wallet gets its address later\n`)
  }
}

async function untilKeyAhead(
  pool: Pool,
  { threshold, parties }: Pick<MpcConfig, 'threshold' | 'parties'>,
  timeoutMs: number,
): Promise<void> {
  const deadline = Date.now() + timeoutMs
  while (Date.now() < deadline) {
    const { rows } = await pool.query<{ ahead: boolean }>(
      `SELECT EXISTS (SELECT FROM ${MPC_KEYS} AS mpc_keys WHERE wallet_id IS NULL AND threshold = $1 AND parties = $2) AS ahead`,
      [threshold, parties],
    )
    if (rows[0]?.ahead === true) return
    await sleep(LOOK_MS)
  }
  throw new Error(`the parties did not create an mpc key in ${timeoutMs / 1_000} seconds`)
}
