/** A DNS server for tests. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import type { Test } from 'tap'

/**
 * Answers with IPv4 addresses: `[]` for a name that has none, null for one that is never answered.
 *
 * @returns its address and port
 */
export async function dnsServer(t: Test, answer: (name: string) => readonly string[] | null): Promise<string> {
  const server = createSocket('udp4')
  server.on('message', (query, from) => {
    const labels: string[] = []
    let end = 12
    for (let length = query[end] ?? 0; length !== 0; length = query[end] ?? 0) {
      labels.push(query.toString('latin1', end + 1, end + 1 + length))
      end += length + 1
    }
    const question = query.subarray(12, end + 5)
    const isAddress = query.readUInt16BE(end + 1) === 1
    const addresses = isAddress ? answer(labels.join('.')) : []
    if (addresses === null) return
    const header = Buffer.concat([
      query.subarray(0, 2),
      Buffer.from([0x81, 0x80, 0, 1, 0, addresses.length, 0, 0, 0, 0]),
    ])
    const records = addresses.map((address) =>
      Buffer.from([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)]),
    )
    server.send(Buffer.concat([header, question, ...records]), from.port, from.address)
  })
  server.bind(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return `127.0.0.1:${server.address().port}`
}
