// The set-up of a local chain uses two calls that only anvil has. This server answers them with what the node can do, and
// passes all others on.

import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

const LOOK_MS = 100

/**
 * @param {string} url of the node
 * @param {'geth' | 'hardhat'} client
 * @param {readonly string[]} standing addresses of contracts that the set-up takes for deployed
 * @returns {Promise<string>} the URL of the server, which ends with this process
 */
export async function answerCheats(url, client, standing) {
  const cheats = client === 'geth' ? gethCheats(url, standing) : hardhatCheats(url)
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const call = JSON.parse(text)
    const cheat = cheats[call.method]
    const answer = cheat === undefined ? await ask(url, call) : { ...call, ...(await cheat(call.params)) }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  })
  server.listen(0, '127.0.0.1').unref()
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return `http://127.0.0.1:${port}`
}

/** @typedef {Record<string, (params: readonly unknown[]) => Promise<{ result?: unknown, error?: unknown }>>} Cheats */

/**
 * Blocks come by themselves: whatever waits is mined when the pool is empty. The owner has all funds from block 0.
 *
 * @param {string} url
 * @param {readonly string[]} standing
 * @returns {Cheats}
 */
function gethCheats(url, standing) {
  return {
    async eth_getCode(params) {
      if (standing.includes(String(params[0]))) return { result: '0x00' }
      const { result, error } = await ask(url, { jsonrpc: '2.0', id: 1, method: 'eth_getCode', params })
      return error === undefined ? { result } : { error }
    },
    async evm_mine() {
      for (;;) {
        const { result } = await ask(url, { jsonrpc: '2.0', id: 1, method: 'txpool_status', params: [] })
        if (Number(result.pending) + Number(result.queued) === 0) return { result: '0x0' }
        await sleep(LOOK_MS)
      }
    },
    anvil_setBalance: async () => ({ result: null }),
    // While geth takes a new block into its pool, it may give a nonce again, which it then refuses.
    async eth_sendTransaction(params) {
      for (;;) {
        const { result, error } = await ask(url, { jsonrpc: '2.0', id: 1, method: 'eth_sendTransaction', params })
        if (!/replacement transaction underpriced/.test(error?.message))
          return error === undefined ? { result } : { error }
        await sleep(LOOK_MS)
      }
    },
  }
}

/**
 * @param {string} url
 * @returns {Cheats}
 */
function hardhatCheats(url) {
  return {
    anvil_setBalance: (params) => ask(url, { jsonrpc: '2.0', id: 1, method: 'hardhat_setBalance', params }),
  }
}

/**
 * @param {string} url
 * @param {object} call
 */
async function ask(url, call) {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(call) })
  return /** @type {any} */ (await response.json())
}
