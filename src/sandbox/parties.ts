/** The mpc parties of the sandbox: separate processes, each with its own directory and key, on fixed ports. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { keptPort } from './ports.ts'

export type PartiesPlan = {
  /** For every process: the addresses of the parties. */
  readonly env: Readonly<Record<string, string>>
  readonly processes: readonly {
    readonly name: string
    readonly env: Readonly<Record<string, string>>
  }[]
}

/** None when mpc is off. */
export async function planParties({ mpc, dataDir }: Config): Promise<PartiesPlan> {
  if (mpc === null) return { env: {}, processes: [] }
  const directory = join(dataDir, 'mpc')
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const numbers = Array.from({ length: mpc.parties }, (_, index) => index + 1)
  const addresses: string[] = []
  for (const number of numbers) {
    addresses.push(`${number}=127.0.0.1:${await keptPort(join(directory, `party-${number}.port`))}`)
  }
  return {
    env: { MPC_PARTY_ADDRESSES: addresses.join(',') },
    processes: numbers.map((number) => ({
      name: `mpc-party-${number}`,
      env: { MPC_PARTY: String(number) },
    })),
  }
}
