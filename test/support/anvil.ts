/** A real local chain for one test: fresh, and removed after the test. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { type Anvil, startAnvil } from '../../src/sandbox/anvil.ts'
import { freePort } from '../../src/sandbox/ports.ts'
import { callRpc } from '../../src/sandbox/rpc.ts'
import { eventually } from './sandbox-eventually.ts'

export type TestChainOptions = Partial<Omit<Parameters<typeof startAnvil>[0], 'directory'>>

/** Starts anvil on a free port; default chain id is that of the sandbox's ethereum. */
export async function withAnvil(t: Test, options: TestChainOptions = {}): Promise<Anvil> {
  const directory = await mkdtemp(join(tmpdir(), 'bursar-anvil-'))
  const anvil = await startAnvil({ chainId: 1000001, port: await freePort(), ...options, directory })
  t.after(async () => {
    await anvil.stop()
    await rm(directory, { recursive: true, force: true })
  })
  return anvil
}

export type SentReceipt = { readonly contractAddress: string | null; readonly status: string }

/**
 * Sends from an unlocked account of a chain that mines each transaction: it may return before the transaction is mined.
 */
export async function sendMined(url: string, transaction: Readonly<Record<string, string>>): Promise<SentReceipt> {
  const hash = await callRpc(url, 'eth_sendTransaction', [transaction])
  return (await eventually(() => callRpc(url, 'eth_getTransactionReceipt', [hash]))) as SentReceipt
}
