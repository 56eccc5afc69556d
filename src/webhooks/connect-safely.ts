/**
 * Connects to receivers of webhooks, and to nothing else: an endpoint is a URL of a tenant, which must not reach into
 * the network of the service (server-side request forgery, CWE-918).
 *
 * Each address is checked three times: the literal in the URL, every answer of DNS, and the address that the socket is
 * connected to. So it does not matter that DNS answers differently the second time.
 */
import http from 'node:http'
import https from 'node:https'
import { isIP, type LookupFunction, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { LookUpAll } from './look-up.ts'
import type { IsAllowedAddress } from './public-address.ts'

/** Connections that are kept for the next deliveries to the same host, which several webhooks may have. */
const KEPT_SOCKETS = 64
/** Less than the 5 s after which many servers close a connection: a request on a closed one fails. */
const KEPT_MS = 4_000

/** The receiver has an address that webhooks are not sent to. */
export class AddressRefused extends Error {
  readonly code = 'address_refused'
}

type Connect = http.Agent['createConnection']
export type Agents = { readonly http: http.Agent; readonly https: https.Agent }

/** Agents for `http.request` and `https.request`. */
export function createSafeAgents(isAllowed: IsAllowedAddress, resolve: LookUpAll): Agents {
  const lookup = checkedLookup(isAllowed, resolve)
  const settings = { keepAlive: true, timeout: KEPT_MS, maxFreeSockets: KEPT_SOCKETS, lookup }
  return { http: guarded(new http.Agent(settings), isAllowed), https: guarded(new https.Agent(settings), isAllowed) }
}

function checkedLookup(isAllowed: IsAllowedAddress, resolve: LookUpAll): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, (error, addresses) => {
      const [first] = addresses ?? []
      const bad = addresses?.find(({ address }) => !isAllowed(address))
      if (error !== null) callback(error, '')
      else if (first === undefined) callback(new AddressRefused(`${hostname} has no address`), '')
      // The owner reads this: which addresses the names of the service's own network have is not for him.
      else if (bad !== undefined) callback(new AddressRefused(`${hostname} has an address that is not public`), '')
      else if (options.all) callback(null, [...addresses])
      else callback(null, first.address, first.family)
    })
  }
}

function guarded<A extends http.Agent>(agent: A, isAllowed: IsAllowedAddress): A {
  const connect: Connect = agent.createConnection.bind(agent)
  agent.createConnection = (options, callback) => {
    const host = String((options as { readonly host?: unknown }).host)
    // `lookup` is not called for an address.
    if (isIP(host) !== 0 && !isAllowed(host)) throw new AddressRefused(`${host} is not a public address`)
    const socket = connect(options, callback)
    if (socket) checkPeer(socket, isAllowed)
    return socket
  }
  return agent
}

function checkPeer(socket: Duplex, isAllowed: IsAllowedAddress): void {
  const connection = socket as Socket
  connection.once('connect', () => {
    const { remoteAddress } = connection
    if (remoteAddress !== undefined && !isAllowed(remoteAddress))
      connection.destroy(new AddressRefused('the connection leads to an address that is not public'))
  })
}
