// A node that does not say when its next fork comes: all that it is asked is passed on, and `next` of eth_config is hidden.

import { once } from 'node:events'
import { createServer } from 'node:http'

/**
 * @param {string} url of the node
 * @returns {Promise<string>} the URL of the server, which ends with this process
 */
export async function hideNextFork(url) {
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const headers = { 'content-type': 'application/json' }
    try {
      const answer = await fetch(url, { method: 'POST', headers, body })
      const text = await answer.text()
      response.writeHead(answer.status, headers).end(body.includes('"eth_config"') ? hidden(text) : text)
    } catch {
      // The node is down: so is this one.
      request.socket.destroy()
    }
  })
  server.listen(0, '127.0.0.1').unref()
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return `http://127.0.0.1:${port}`
}

/** @param {string} text of one answer, or of several */
function hidden(text) {
  const answers = JSON.parse(text)
  for (const { result } of [answers].flat()) if (result?.current !== undefined) result.next = null
  return JSON.stringify(answers)
}
