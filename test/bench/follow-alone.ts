/** The ceilings of following a chain: only the same reads of the same node by the same client. */
import { readBlocks } from '../../src/chain/blocks.ts'
import { readNativeBalances } from '../../src/chain/multicall.ts'
import { createRpcClient, type RpcClient } from '../../src/chain/rpc-client.ts'

const BLOCKS_AT_ONCE = 100
const BALANCES_AT_ONCE = 500
const TIMEOUT_MS = 30_000
const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined }

/** Blocks per second. */
export async function readBlocksAlone(
  url: string,
  chainId: number,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<number> {
  return perSecond(to - from + 1, url, chainId, async (client) => {
    for (let at = from; at <= to; at += BLOCKS_AT_ONCE)
      await readBlocks(client, {
        from: at,
        to: Math.min(to, at + BLOCKS_AT_ONCE - 1),
        blockReceipts: true,
        recover: null,
      })
  })
}

/** Balances per second. */
export async function readNativesAlone(
  url: string,
  chainId: number,
  { multicall3, addresses }: { readonly multicall3: string | null; readonly addresses: readonly string[] },
): Promise<number> {
  return perSecond(addresses.length, url, chainId, async (client) => {
    for (let at = 0; at < addresses.length; at += BALANCES_AT_ONCE)
      await readNativeBalances(client, multicall3, addresses.slice(at, at + BALANCES_AT_ONCE), 'latest')
  })
}

async function perSecond(
  count: number,
  url: string,
  chainId: number,
  read: (client: RpcClient) => Promise<void>,
): Promise<number> {
  const client = createRpcClient({ urls: [url], chainId, timeoutMs: TIMEOUT_MS, now: Date.now, log: SILENT })
  const startedAt = performance.now()
  await read(client)
  client.close()
  return (1_000 * count) / (performance.now() - startedAt)
}
