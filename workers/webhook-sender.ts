/** Sends events to webhooks. Run any number: each webhook is independent. */
import { runProcess } from '../src/compose/run-process.ts'
import { startWebhookSender } from '../src/compose/webhook-sender.ts'

await runProcess('webhook-sender', startWebhookSender, process.env)
