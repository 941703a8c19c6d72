"""A page that subscribes and long-polls the web courier as CloudKit JS does, and fetches when it is told."""

from waiting import until

CONTAINER = "iCloud.com.example.Courier"
SILENT = {"shouldSendContentAvailable": True}
ZONE = {"zoneName": "Chats"}

# The requests of CloudKit JS 2.6: its version and the id of the page in each address, bodies as plain text, one poller that asks again after 10 ms, or
# later and later while the answer is no JSON. It reads `fet` first, then `qry`, hands over everything else as it is, and says nothing of `null`.
CLIENT = """
const container = 'iCloud.com.example.Courier'
const clientId = crypto.randomUUID()
window.told = []
window.polls = 0
window.nothing = 0
window.send = async (address, body) => {
  const path = `${address}?ckjsBuildVersion=2604ProjectDev34&ckjsVersion=2.6.4&clientId=${clientId}`
  const response = await fetch(path, { method: 'POST', headers: { 'Content-Type': 'text/plain' }, body: JSON.stringify(body) })
  return response.json()
}
window.call = (service, body) => send(`/database/1/${container}/development/private/${service}`, body)
const reasons = { 1: 'RECORD_CREATED', 2: 'RECORD_UPDATED', 3: 'RECORD_DELETED' }
const parsed = payload => {
  const { fet, qry } = payload.ck
  if (fet) return { type: 'RECORD_ZONE_NOTIFICATION', subscriptionID: fet.sid, zoneID: { zoneName: fet.zid, ownerRecordName: fet.zoid } }
  if (!qry) return payload
  const fields = Object.fromEntries(Object.entries(qry.af ?? {}).map(([name, value]) => [name, { value }]))
  return { type: 'QUERY_NOTIFICATION', subscriptionID: qry.sid, reason: reasons[qry.fo], recordName: qry.rid, recordFields: fields }
}
const poll = (address, delay) => {
  const request = new XMLHttpRequest()
  polls += 1
  request.onloadend = () => {
    try {
      const payload = JSON.parse(request.responseText)
      if (payload) told.push(parsed(payload))
      else nothing += 1
      setTimeout(poll, 10, address, 10)
    } catch { setTimeout(poll, delay, address, Math.min(1000, delay * 10)) }
  }
  request.open('GET', address)
  request.send()
}
window.register = async () => {
  const token = await send(`/device/1/${container}/development/tokens/create`, { apnsEnvironment: 'development', clientId })
  const { apnsEnvironment, apnsToken } = token
  await send(`/device/1/${container}/development/tokens/register`, { apnsEnvironment, apnsToken, clientId })
  poll(token.webcourierURL, 10)
  return token
}
window.isReady = true
"""


def message(name, text):
    return {"recordType": "Message", "recordName": name, "fields": {"text": {"value": text}}}


def subscription(name, kind, **more):
    return {"operationType": "create", "subscription": {"subscriptionID": name, "subscriptionType": kind, "notificationInfo": SILENT, **more}}


def test_a_page_is_notified_and_fetches(server, open_page):
    server.save(CONTAINER, "Chats", message("first", "Hello"))
    page = open_page("/")
    page.evaluate(CLIENT)

    def call(service, body):
        return page.evaluate("([service, body]) => call(service, body)", [service, body])

    def told(count):
        until(lambda: page.evaluate("told.length") >= count)
        return page.evaluate("told")

    token = page.evaluate("register()")
    assert token["webcourierURL"].startswith(server.address + "/aps?tok=" + token["apnsToken"])
    query = {"recordType": "Message"}
    operations = [
        subscription("new", "query", query=query, firesOn=["create", "update", "delete"], notificationInfo={**SILENT, "additionalFields": ["text"]}),
        subscription("chats", "zone", zoneID=ZONE),
        subscription("all", "database"),
    ]
    saved = call("subscriptions/modify", {"operations": operations})["subscriptions"]
    assert all("serverErrorCode" not in one for one in saved), saved
    since = call("changes/zone", {"zones": [{"zoneID": ZONE}]})["zones"][0]["syncToken"]

    # The page is not told of its own save, and fetches it with the next change.
    own = call("records/modify", {"zoneID": ZONE, "operations": [{"operationType": "create", "record": message("own", "From here")}]})
    assert "serverErrorCode" not in own["records"][0]
    server.save(CONTAINER, "Chats", message("other", "From there"))
    notifications = {one.get("subscriptionID", "all"): one for one in told(3)}
    assert notifications["new"] == {
        "type": "QUERY_NOTIFICATION", "subscriptionID": "new", "reason": "RECORD_CREATED", "recordName": "other",
        "recordFields": {"text": {"value": "From there"}},
    }
    assert notifications["chats"]["type"] == "RECORD_ZONE_NOTIFICATION" and notifications["chats"]["zoneID"]["zoneName"] == "Chats"
    database = notifications["all"]["ck"]
    assert database["met"]["sid"] == "all" and database["met"]["zid"] == "Chats" and database["cid"] == CONTAINER
    changes = call("changes/zone", {"zones": [{"zoneID": ZONE, "syncToken": since}]})["zones"][0]
    assert [record["recordName"] for record in changes["records"]] == ["own", "other"]

    # Each of many changes is told once, in order.
    names = [f"message{number}" for number in range(25)]
    for name in names:
        server.save(CONTAINER, "Chats", message(name, name))
    server.ask(f"/{CONTAINER}/development/private/records/modify", {"zoneID": ZONE, "operations": [
        {"operationType": "forceDelete", "record": {"recordName": "other"}},
    ]})

    def queries():
        return [one for one in page.evaluate("told") if one.get("subscriptionID") == "new"][1:]

    until(lambda: len(queries()) > len(names))
    assert [one["recordName"] for one in queries()] == [*names, "other"]
    assert queries()[-1]["reason"] == "RECORD_DELETED"
    # It asked again after each answer, and one request waits.
    until(lambda: page.evaluate("polls === told.length + nothing + 1"))
