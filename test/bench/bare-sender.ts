/**
 * The ceiling of a sender of webhooks: a loop of signed POSTs and nothing else. Run with the URL, the number of
 * connections, requests and bytes of each body; sends the CPU time of the requests to its parent, in ms. As many requests
 * are sent before, by which the JavaScript engine has compiled the loop.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import { signDelivery } from '../../src/webhooks/signature.ts'

const [url = '', connections, count, bytes] = process.argv.slice(2)
const agent = new http.Agent({ keepAlive: true, maxSockets: Number(connections) })
const keys = { secrets: [randomBytes(32)], ed25519: [] }
const body = JSON.stringify('x'.repeat(Number(bytes) - 2))

await sendAll()
process.send?.('warm')
await once(process, 'message')
const before = process.cpuUsage()
await sendAll()
const { user, system } = process.cpuUsage(before)
process.send?.((user + system) / 1_000)
process.disconnect()
agent.destroy()

async function sendAll(): Promise<void> {
  let left = Number(count)
  const sendNext = async () => {
    while (left > 0) {
      left -= 1
      await post(`evt_bench.${left}`)
    }
  }
  await Promise.all(Array.from({ length: Number(connections) }, sendNext))
}

async function post(id: string): Promise<void> {
  const headers = { 'content-type': 'application/json', ...signDelivery(keys, id, Date.now(), body) }
  const request = http.request(url, { method: 'POST', agent, headers })
  request.end(body)
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  response.resume()
  await once(response, 'end')
}
