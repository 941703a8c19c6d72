"""Every kind of page, in a state that shows much."""

CHAT = "/c/iCloud.com.example.Chat/development/private"

PAGES = {
    "home": "/",
    "query": CHAT + "/query?type=Message&zone=Chats&filter1=room&is1=EQUALS&value1=Room%2Fgeneral&sort1=sentAt&order1=descending",
    "query refused": CHAT + "/query?type=Message&filter1=author&is1=EQUALS&value1=x&filter2=sentAt&value2=nonsense",
    "query all missing": CHAT + "/query?type=Message&zone=Chats&filter1=author&is1=EQUALS&value1=x&sort1=text",
    "query without match": CHAT + "/query?type=Message&filter1=text&is1=EQUALS&value1=nothing+like+it",
    "query of nothing": CHAT.replace("private", "shared") + "/query",
    "query of no types": CHAT.replace("development", "production") + "/query",
    "fetch": CHAT + "/fetch?zone=Chats&names=Person%2Fada%0ARoom%2Fgeneral%0Anobody",
    "fetch first": CHAT + "/fetch",
    "zones feed": CHAT + "/changes",
    "record feed": CHAT + "/changes?zone=Chats",
    "bad token": CHAT + "/changes?zone=Chats&since=1&token=garbage",
    "no feed": CHAT.replace("private", "public") + "/changes",
    "record": CHAT + "/record?zone=Chats&name=Room%2Fgeneral",
    "record not found": CHAT + "/record?zone=Chats&name=nobody",
    "record deletion": CHAT + "/record/delete?zone=Chats&name=Person%2Fada",
    "tokens": CHAT + "/token",
    "bad token explained": CHAT + "/token?token=garbage",
    "zones": CHAT + "/zones",
    "zone": CHAT + "/zone?zone=Chats",
    "zone deletion": CHAT + "/zone/delete?zone=Chats",
    "types": CHAT + "/types",
    "type": CHAT + "/type?type=Message",
    "schema": CHAT + "/schema",
    "users": CHAT + "/users",
    "nothing found": CHAT + "/find?q=nothing",
}
