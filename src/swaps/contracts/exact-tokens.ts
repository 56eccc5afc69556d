/**
 * Tokens whose contract moves exactly what it is told to, now and later: its code has no fee for transfers and no switch
 * for one, runs no code of another contract, and cannot be replaced. Only for them does the figure of a pool say what
 * arrives. A token is known by the hash of its code. A proxy never is, whatever it runs now.
 */
import { keccak256 } from 'ethers/crypto'
import { LRUCache } from 'lru-cache'
import { readData } from '../../chain/hex.ts'
import { type RpcReader, rpcCall } from '../../chain/json-rpc.ts'

/** Keccak-256 of the deployed code. Add a contract only after all of its source was read: see ADR 44. */
const EXACT_CODES: ReadonlyMap<string, string> = new Map([
  ['0xd0a06b12ac47863b5c7be4185c2deaad1c61557033f56c7d4ea74429cbb25e23', 'WETH9 on Ethereum'],
  ['0x4e36f96ee1667a663dfaac57c4d185a0e369a3a217e0079d49620f34f85d1ac7', 'DAI on Ethereum'],
  ['0x84f259f70efbc264242469b85fd65a1637f98c84d8d2adec38a6a398599e0f7e', 'the wrapped currency of the sandbox'],
  ['0x6a157f1b8f1f8c160926063d2fb644b718d7a25452212c061ead4c6e2ede8855', 'USDC of the sandbox'],
  ['0xd0617e1858fe8b9be5d4fd5cb8011799d7d02bd8f6ab4d1fc7aee0c7c6a31839', 'USDT of the sandbox'],
])

export type ExactTokens = {
  /** @param client what a quorum says alike. @throws Unavailable when no node answered */
  readonly isExact: (
    client: RpcReader,
    token: { readonly chainId: number; readonly contract: string },
  ) => Promise<boolean>
}

/** Code that is listed never changes; other code may. */
const OTHER_TTL_MS = 60_000
/** About 150 bytes each. */
const MAX_TOKENS = 20_000

/** @param now a clock, ms */
export function createExactTokens(now: () => number): ExactTokens {
  const known = new LRUCache<string, boolean>({ max: MAX_TOKENS, perf: { now }, ttlResolution: 0 })
  return {
    async isExact(client, { chainId, contract }) {
      const key = `${chainId} ${contract.toLowerCase()}`
      const remembered = known.get(key)
      if (remembered !== undefined) return remembered
      const code = await rpcCall(client, 'eth_getCode', [contract, 'latest'])
      const isExact = EXACT_CODES.has(keccak256(readData(code, 'a contract code')))
      known.set(key, isExact, isExact ? {} : { ttl: OTHER_TTL_MS })
      return isExact
    },
  }
}
