extension Scenario {
    private static let device = "/device/1/iCloud.com.example.Test/development"
    private static let silent = #""notificationInfo":{"shouldSendContentAvailable":true}"#

    private static func subscribing(_ subscriptions: String...) -> String {
        let operations = subscriptions.map { #"{"operationType":"create","subscription":\#($0)}"# }
        return #"{"operations":[\#(operations.joined(separator: ","))]}"#
    }

    private static func saving(_ name: String, _ more: String = "", kind: String = "forceUpdate") -> String {
        #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"\#(kind)","record":{"recordType":"Item","recordName":"\#(name)","fields":{"n":1}\#(more)}}]}"#
    }

    private static let zone = post(
        "private/zones/modify", #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}"#)

    static let notifications: [Scenario] = [
        Scenario(
            "subscriptions are saved, listed, looked up, replaced and deleted",
            zone, post("private/records/modify", saving("first")),
            post(
                "private/subscriptions/modify",
                subscribing(
                    #"{"subscriptionID":"q","subscriptionType":"query","query":{"recordType":"Item","filterBy":[{"fieldName":"n","comparator":"EQUALS","fieldValue":{"value":1,"type":"INT64"}}]},"firesOn":["update","create"],"notificationInfo":{"alertBody":"New","additionalFields":["n"]}}"#,
                    #"{"subscriptionID":"z","subscriptionType":"zone","zoneID":{"zoneName":"Z"}}"#,
                    #"{"subscriptionType":"database"}"#,
                    #"{"subscriptionID":"q2","subscriptionType":"query","query":{"recordType":"Item","filterBy":[{"fieldName":"n","comparator":"EQUALS","fieldValue":{"value":1,"type":"INT64"}}]},"firesOn":["create","update"]}"#,
                    #"{"subscriptionID":"gone","subscriptionType":"zone","zoneID":{"zoneName":"Gone"}}"#),
                200,
                #"{"subscriptions":[{"subscriptionID":"q","subscriptionType":"query","firesOn":["create","update"],"firesOnce":false,"zoneWide":true,"zoneID":"<absent>","query":{"recordType":"Item","filterBy":[{"fieldName":"n","comparator":"EQUALS"}]},"notificationInfo":{"alertBody":"New","additionalFields":["n"]}},{"subscriptionID":"z","subscriptionType":"zone","zoneID":{"zoneName":"Z","ownerRecordName":"$developer"},"query":"<absent>","firesOn":"<absent>","notificationInfo":"<absent>"},{"subscriptionID":"<any>","subscriptionType":"database"},{"subscriptionID":"q2","serverErrorCode":"INTERNAL_ERROR","reason":"could not find subscription we just created"},{"subscriptionID":"gone","serverErrorCode":"ZONE_NOT_FOUND"}]}"#,
                keeping: ["database": "subscriptions[2].subscriptionID"]),
            post(
                "private/subscriptions/lookup",
                #"{"subscriptions":[{"subscriptionID":"z"},{"subscriptionID":"none"},{"subscriptionID":"$database"}]}"#,
                200,
                #"{"subscriptions":[{"subscriptionType":"zone"},{"subscriptionID":"none","serverErrorCode":"NOT_FOUND","reason":"Subscription not found"},{"subscriptionType":"database"}]}"#
            ),
            post(
                "private/subscriptions/modify",
                #"{"operations":[{"operationType":"update","subscription":{"subscriptionID":"z","subscriptionType":"zone","zoneID":{"zoneName":"Z"},"recordType":"Item"}},{"operationType":"delete","subscription":{"subscriptionID":"$database"}},{"operationType":"delete","subscription":{"subscriptionID":"$database"}}]}"#,
                200,
                #"{"subscriptions":[{"subscriptionID":"z","recordType":"Item"},{"subscriptionID":"$database","deleted":true},{"subscriptionID":"$database","serverErrorCode":"NOT_FOUND"}]}"#
            ),
            get(
                "private/subscriptions/list", 200,
                #"{"subscriptions":[{"subscriptionID":"q"},{"subscriptionID":"z","recordType":"Item"}]}"#),
            // Other databases and users have others.
            post("public/subscriptions/list", "{}", 200, #"{"subscriptions":[]}"#),
            get("private/subscriptions/list", 200, #"{"subscriptions":[]}"#, as: "anna"),
            post(
                "shared/subscriptions/modify",
                subscribing(
                    #"{"subscriptionID":"q","subscriptionType":"query","query":{"recordType":"Item"},"firesOn":["create"]}"#,
                    #"{"subscriptionID":"d","subscriptionType":"database"}"#),
                200,
                #"{"subscriptions":[{"subscriptionID":"q","serverErrorCode":"BAD_REQUEST","reason":"<has a shared database has database subscriptions>"},{"subscriptionID":"d"}]}"#
            )),
        Scenario(
            "requests for subscriptions and tokens that make no sense",
            post(
                "private/subscriptions/modify", #"{"operations":[{"operationType":"replace","subscription":{}}]}"#, 400,
                #"{"reason":"<has known are create, update, delete>"}"#),
            post(
                "private/subscriptions/modify", #"{"operations":[{"operationType":"create"}]}"#, 400,
                #"{"reason":"<has operations[0].subscription>"}"#),
            post(
                "private/subscriptions/modify", subscribing(#"{"subscriptionType":"other"}"#), 400,
                #"{"reason":"<has known are query, zone, database>"}"#),
            post(
                "private/subscriptions/modify", #"{"operations":[{"operationType":"delete","subscription":{}}]}"#, 400,
                #"{"reason":"<has subscriptionID>"}"#),
            post(
                "private/subscriptions/lookup", #"{"subscriptions":[{}]}"#, 400, #"{"reason":"<has subscriptionID>"}"#),
            post(
                "\(device)/tokens/create", #"{"apnsEnvironment":"other"}"#, 400,
                #"{"reason":"<has 'apnsEnvironment' to be development or production>"}"#),
            post("\(device)/tokens/register", "{}", 400, #"{"reason":"<has apnsToken>"}"#),
            post("\(device)/tokens/register", #"{"apnsToken":"none"}"#, 404, #"{"serverErrorCode":"NOT_FOUND"}"#)),
        Scenario(
            "a client subscribes by query, zone and database, is told of another client's save, and fetches",
            zone, post("private/records/modify", saving("first")),
            post(
                "private/subscriptions/modify",
                subscribing(
                    #"{"subscriptionID":"q","subscriptionType":"query","query":{"recordType":"Item"},"firesOn":["create","delete"],"notificationInfo":{"alertBody":"New","additionalFields":["n"]}}"#,
                    #"{"subscriptionID":"z","subscriptionType":"zone","zoneID":{"zoneName":"Z"},\#(silent)}"#,
                    #"{"subscriptionID":"d","subscriptionType":"database",\#(silent)}"#)),
            post(
                "private/changes/zone", #"{"zones":[{"zoneID":{"zoneName":"Z"}}]}"#, 200, "{}",
                keeping: ["since": "zones[0].syncToken"]),
            post(
                "\(device)/tokens/create", #"{"apnsEnvironment":"development","clientId":"page-1"}"#, 200,
                #"{"apnsEnvironment":"development","apnsToken":"<any>","webcourierURL":"<has http://localhost/aps?tok=>"}"#,
                keeping: ["tok": "apnsToken"]),
            post(
                "\(device)/tokens/register",
                #"{"apnsEnvironment":"development","apnsToken":"$tok","clientId":"page-1"}"#, 200,
                #"{"apnsToken":"$tok","webcourierURL":"<any>"}"#),
            // The client itself is not told of its own save.
            post(
                "private/records/modify?clientId=page-1", saving("own"), 200,
                #"{"records":[{"modified":{"deviceID":"page-1"}}]}"#),
            post("private/records/modify?clientId=page-2", saving("a")),
            get(
                "/aps?tok=$tok&ttl=43200", 200,
                #"{"aps":{"content-available":1,"alert":"<absent>"},"ck":{"ce":2,"cid":"iCloud.com.example.Test","ckuserid":"$developer","nid":"<any>","met":{"dbs":1,"sid":"d","zid":"Z","zoid":"$developer"},"qry":"<absent>"}}"#
            ),
            get(
                "/aps?tok=$tok&ttl=43200", 200,
                #"{"aps":{"alert":{"body":"New"}},"ck":{"cid":"iCloud.com.example.Test","qry":{"dbs":1,"sid":"q","rid":"a","fo":1,"zid":"Z","zoid":"$developer","af":{"n":1}}}}"#
            ),
            get("/aps?tok=$tok", 200, #"{"ck":{"fet":{"dbs":1,"sid":"z","zid":"Z","zoid":"$developer"}}}"#),
            post(
                "private/changes/zone", #"{"zones":[{"zoneID":{"zoneName":"Z"},"syncToken":"$since"}]}"#, 200,
                #"{"zones":[{"records":[{"recordName":"own"},{"recordName":"a"}]}]}"#),
            post(
                "private/records/modify",
                #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"forceDelete","record":{"recordName":"a"}}]}"#
            ),
            get("/aps?tok=$tok", 200, #"{"ck":{"met":{"sid":"d"}}}"#),
            get("/aps?tok=$tok", 200, #"{"ck":{"qry":{"sid":"q","rid":"a","fo":3}}}"#)),
        Scenario(
            "a subscription to the public database that fires once, and one token for two environments",
            post(
                "public/records/modify",
                #"{"operations":[{"operationType":"create","record":{"recordType":"Item","recordName":"first"}}]}"#),
            post(
                "public/subscriptions/modify",
                subscribing(
                    #"{"subscriptionID":"q","subscriptionType":"query","query":{"recordType":"Item"},"firesOn":["create"],"firesOnce":true,\#(silent)}"#
                ), as: "anna"),
            post("\(device)/tokens/create", "{}", 200, "{}", keeping: ["tok": "apnsToken"], as: "anna"),
            post("\(device)/tokens/register", #"{"apnsToken":"$tok"}"#, 404, #"{"serverErrorCode":"NOT_FOUND"}"#),
            post(
                "/device/1/iCloud.com.example.Test/production/tokens/register", #"{"apnsToken":"$tok"}"#, 200,
                #"{"apnsEnvironment":"production"}"#, as: "anna"),
            post(
                "/database/1/iCloud.com.example.Test/production/private/subscriptions/modify",
                subscribing(#"{"subscriptionID":"d","subscriptionType":"database",\#(silent)}"#), as: "anna"),
            post(
                "public/records/modify",
                #"{"operations":[{"operationType":"create","record":{"recordType":"Item","recordName":"a"}},{"operationType":"create","record":{"recordType":"Item","recordName":"b"}}]}"#
            ),
            get("/aps?tok=$tok", 200, #"{"ck":{"ckuserid":"$anna","qry":{"dbs":0,"sid":"q","rid":"a","fo":1}}}"#),
            get("public/subscriptions/list", 200, #"{"subscriptions":[]}"#, as: "anna"),
            post(
                "/database/1/iCloud.com.example.Test/production/private/zones/modify",
                #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"P"}}}]}"#, as: "anna"),
            get("/aps?tok=$tok", 200, #"{"ck":{"met":{"sid":"d","zid":"P"}}}"#)),
        Scenario(
            "a guest is told of the list that is shared, and of nothing else",
            zone, post("private/records/modify", saving("list", kind: "create")),
            post("private/records/modify", saving("milk", #","parent":{"recordName":"list"}"#)),
            post("private/records/modify", saving("diary")),
            post(
                "private/records/lookup", #"{"zoneID":{"zoneName":"Z"},"records":[{"recordName":"list"}]}"#, 200, "{}",
                keeping: ["tag": "records[0].recordChangeTag"]),
            get("public/users/caller", as: "anna"),
            post(
                "private/records/modify",
                #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"create","record":{"recordType":"cloudkit.share","recordName":"share","forRecord":{"recordName":"list","recordChangeTag":"$tag"},"publicPermission":"NONE","participants":[{"type":"USER","permission":"READ_WRITE","acceptanceStatus":"INVITED","userIdentity":{"lookupInfo":{"userRecordName":"$anna"}}}]}}]}"#,
                200, "{}", keeping: ["link": "records[0].shortGUID"]),
            post(
                "public/records/accept", #"{"shortGUIDs":["$link"]}"#, 200,
                #"{"results":[{"participantStatus":"ACCEPTED"}]}"#, as: "anna"),
            post(
                "shared/subscriptions/modify",
                subscribing(#"{"subscriptionID":"d","subscriptionType":"database",\#(silent)}"#), as: "anna"),
            post("\(device)/tokens/create", "{}", 200, "{}", keeping: ["tok": "apnsToken"], as: "anna"),
            post("private/records/modify", saving("diary")), post("private/records/modify", saving("milk")),
            get(
                "/aps?tok=$tok", 200,
                #"{"ck":{"ckuserid":"$anna","met":{"dbs":2,"sid":"d","zid":"Z","zoid":"$developer"}}}"#),
            // Had the diary been told too, it would come before the end of the share.
            post("private/records/modify", saving("diary")),
            post(
                "private/records/modify",
                #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"forceDelete","record":{"recordName":"share"}}]}"#
            ),
            get("/aps?tok=$tok", 200, #"{"ck":{"met":{"dbs":2,"sid":"d","zid":"Z"}}}"#),
            get("shared/zones/list", 200, #"{"zones":[]}"#, as: "anna")),
    ]
}
