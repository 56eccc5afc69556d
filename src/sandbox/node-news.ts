/**
 * Waits for the news of a local node: a pending transaction, or a block. Messages are not read, since each of them means
 * that it is time to look at the node.
 */
import { randomBytes } from 'node:crypto'
import http from 'node:http'
import type { Duplex } from 'node:stream'

export type NodeNews = {
  /**
   * Resolves at once when there was news since the last wait; else with the next news, after `timeoutMs`, or on abort.
   *
   * @returns whether there was news
   */
  readonly wait: (timeoutMs: number, signal: AbortSignal) => Promise<boolean>
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
  let hasCome = false
  let release: () => void = () => undefined
  const wake = () => {
    hasCome = true
    release()
  }
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
    wait: (timeoutMs, signal) =>
      new Promise((resolve) => {
        release = () => {
          clearTimeout(timer)
          signal.removeEventListener('abort', release)
          release = () => undefined
          resolve(hasCome)
          hasCome = false
        }
        const timer = setTimeout(() => release(), timeoutMs)
        signal.addEventListener('abort', release, { once: true })
        if (hasCome || signal.aborted) release()
      }),
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
