/**
 * Waits for the news of a local node: a pending transaction, or a block. Messages are not read, since each of them means
 * that it is time to look at the node.
 */
import { randomBytes } from 'node:crypto'
import http from 'node:http'
import type { Duplex } from 'node:stream'
import { createLatch, type Latch } from '../core/latch.ts'

export type NodeNews = {
  /** As of a latch that each message sets, and the end of the connection. */
  readonly wait: Latch['wait']
  /** False when the connection ended: there is no more news. */
  readonly isOpen: () => boolean
  readonly close: () => void
}

const SUBJECTS = ['newPendingTransactions', 'newHeads'] as const

/**
 * Subscribes over a WebSocket (RFC 6455). The answers to the subscriptions count as news: what happened before them is
 * found by the look that follows.
 *
 * @param url of the node's HTTP server
 */
export function followNews(url: string): NodeNews {
  let socket: Duplex | null = null
  let isOpen = true
  const { set: wake, wait } = createLatch()
  const end = () => {
    isOpen = false
    wake()
  }
  const key = randomBytes(16).toString('base64')
  const upgrade = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': key,
  }
  const request = http.request(url, { headers: upgrade })
  request.on('error', end)
  request.on('response', (response) => {
    response.resume()
    end()
  })
  request.on('upgrade', (_, opened) => {
    socket = opened
    opened.on('data', wake).on('error', end).on('close', end)
    for (const [id, subject] of SUBJECTS.entries()) opened.write(textFrame(subscription(id, subject)))
  })
  request.end()
  return {
    isOpen: () => isOpen,
    wait,
    close() {
      request.destroy()
      socket?.destroy()
    },
  }
}

function subscription(id: number, subject: string): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method: 'eth_subscribe', params: [subject] })
}

/** A whole message of a client. Its mask is zero, which changes nothing; the length of a longer one is coded otherwise. */
function textFrame(text: string): Buffer {
  const bytes = Buffer.from(text)
  if (bytes.length > 125) throw new RangeError('the message is too long for a short frame')
  return Buffer.concat([Buffer.from([0x81, 0x80 | bytes.length, 0, 0, 0, 0]), bytes])
}
