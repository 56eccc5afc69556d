/**
 * Connects to receivers through an HTTP proxy with CONNECT (RFC 9110 § 9.3.6), such as smokescreen. The proxy looks up
 * names and checks the addresses; only an address in the URL itself is checked here.
 */
import http from 'node:http'
import https from 'node:https'
import { isIP, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import tls from 'node:tls'
import { AddressRefused, type Agents } from './connect-safely.ts'
import type { IsAllowedAddress } from './public-address.ts'

/** A proxy that does not answer must not keep connections for ever. */
const CONNECT_MS = 15_000

type Done = (error: Error | null, socket?: Duplex) => void
type Target = { readonly host: string; readonly port: number; readonly servername?: string }

/** Agents for `http.request` and `https.request`. @param proxyUrl `http://` or `https://`, perhaps with user and password */
export function createProxyAgents(proxyUrl: string, isAllowed: IsAllowedAddress): Agents {
  const proxy = new URL(proxyUrl)
  const open = (target: Target, done: Done) => connect(proxy, target, isAllowed, done)
  return {
    http: through(new http.Agent(), open),
    https: through(new https.Agent(), (target, done) =>
      open(target, (error, socket) => {
        if (error !== null || socket === undefined) return done(error)
        const { host, servername = host } = target
        done(null, tls.connect({ socket: socket as Socket, ...(isIP(servername) === 0 ? { servername } : {}) }))
      }),
    ),
  }
}

function through<A extends http.Agent>(agent: A, open: (target: Target, done: Done) => void): A {
  agent.createConnection = (options, callback) => {
    open(options as Target, callback as Done)
    return undefined
  }
  return agent
}

function connect(proxy: URL, { host, port }: Target, isAllowed: IsAllowedAddress, done: Done): void {
  if (isIP(host) !== 0 && !isAllowed(host)) {
    done(new AddressRefused(`${host} is not a public address`))
    return
  }
  const authority = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`
  const credentials = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`
  const asked = (proxy.protocol === 'https:' ? https : http).request({
    host: proxy.hostname.replace(/^\[|\]$/g, ''),
    port: proxy.port || (proxy.protocol === 'https:' ? 443 : 80),
    method: 'CONNECT',
    path: authority,
    headers: {
      host: authority,
      ...(credentials === ':' ? {} : { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` }),
    },
    agent: false,
    timeout: CONNECT_MS,
  })
  asked.once('connect', ({ statusCode }, socket) => {
    if (statusCode === 200) return done(null, socket)
    socket.destroy()
    done(new Error(`the proxy refused the connection with status ${statusCode}`))
  })
  asked.once('timeout', () => asked.destroy())
  // The owner of the webhook reads this: the proxy's address is not for him.
  asked.once('error', (error) => done(new Error('the proxy cannot be reached', { cause: error })))
  asked.end()
}
