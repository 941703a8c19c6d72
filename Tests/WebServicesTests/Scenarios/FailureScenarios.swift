// Requests that fail as a whole, and missing services.

extension Scenario {
    private static let nothingSaved = post(
        "private/records/lookup", #"{"records":[{"recordName":"a"}]}"#, 200,
        #"{"records":[{"recordName":"a","serverErrorCode":"NOT_FOUND"}]}"#)

    private static func refused(_ body: String, _ reason: String) -> Step {
        post(
            "private/records/modify", body, 400,
            #"{"uuid":"<any>","serverErrorCode":"BAD_REQUEST","reason":"\#(reason)"}"#)
    }

    private static func saving(_ fields: String) -> String {
        #"{"operations":[{"operationType":"create","record":{"recordType":"N","recordName":"a","fields":\#(fields)}}]}"#
    }

    private static func operations(_ count: Int) -> String {
        #"{"operations":[\#((0..<count).map { #"{"operationType":"create","record":{"recordType":"N","recordName":"\#($0 == 0 ? "a" : "r\($0)")"}}"# }.joined(separator: ","))]}"#
    }

    static let failures: [Scenario] = [
        Scenario(
            "what is not the JSON that was expected is refused, and nothing is saved",
            refused("{", "<has BadRequestException: Unexpected input>"),
            refused("", "<has Expected 'operations' to be an array, found nothing>"),
            refused("[]", "<has Expected the body to be an object, found an array>"),
            refused(saving("{}") + "x", "<has text after the end>"),
            refused(#"{"operations":[],"operations":[]}"#, "<has appears twice>"),
            refused(
                String(repeating: #"{"a":"#, count: 5000) + "1" + String(repeating: "}", count: 5000),
                "<has levels deep>"),
            refused(String(repeating: "[", count: 100_000), "<has levels deep>"),
            refused(#"{"operations":{}}"#, "<has Expected 'operations' to be an array, found an object>"),
            refused(#"{"operations":["x"]}"#, "<has Expected 'operations[0]' to be an object, found a string>"),
            refused(
                #"{"operations":[{"operationType":"create"}]}"#,
                "<has Expected 'operations[0].record' to be an object, found nothing>"),
            refused(
                #"{"operations":[{"operationType":"upsert","record":{}}]}"#,
                "<has Unknown operationType 'upsert' in 'operations[0]'>"),
            refused(
                #"{"operations":[{"operationType":"create","record":{"recordName":7,"recordType":"N"}}]}"#,
                "<has 'operations[0].record.recordName' to be a string, found a number>"),
            refused(
                #"{"operations":[{"operationType":"create","record":{"recordName":"a","recordType":"N","fields":[]}}]}"#,
                "<has 'operations[0].record.fields' to be an object>"),
            refused(#"{"zoneID":"Z","operations":[]}"#, "<has Expected 'zoneID' to be an object, found a string>"),
            refused(#"{"atomic":"yes","operations":[]}"#, "<has Expected 'atomic' to be true or false>"),
            refused(saving(#"{"x":{"value":"y","type":"COLOUR"}}"#), "<has Unknown type 'COLOUR' of field 'x'>"),
            refused(saving(#"{"x":{"value":"y","type":"INT64"}}"#), "<has Invalid value, expected type INT64>"),
            refused(saving(#"{"x":{"value":1.5,"type":"TIMESTAMP"}}"#), "<has Invalid value, expected type TIMESTAMP>"),
            refused(saving(#"{"x":{"value":{"latitude":91,"longitude":0}}}"#), "<has Invalid location in field 'x'>"),
            refused(saving(#"{"x":[1,"a"]}"#), "<has must hold values of one type>"),
            refused(saving(#"{"x":1e999}"#), "<has out of range>"),
            nothingSaved),
        Scenario(
            "at most 200 operations, one for each record, 200 lookups",
            refused(operations(201), "<has 201>"),
            nothingSaved,
            refused(
                #"{"operations":[{"operationType":"create","record":{"recordType":"N","recordName":"a"}},{"operationType":"forceDelete","record":{"recordName":"a"}}]}"#,
                "<has two operations>"),
            nothingSaved,
            post(
                "private/records/lookup",
                #"{"records":[\#((0..<201).map { #"{"recordName":"\#($0)"}"# }.joined(separator: ","))]}"#, 400,
                #"{"serverErrorCode":"BAD_REQUEST","reason":"<has 201>"}"#),
            post(
                "private/records/lookup", #"{"records":[{}]}"#, 400,
                #"{"reason":"<has Expected 'records[0].recordName' to be a string, found nothing>"}"#),
            post("private/records/lookup", #"{"records":[]}"#, 200, #"{"records":[]}"#),
            post("private/records/modify", operations(200), 200, #"{"records":"<any>"}"#)),
        Scenario(
            "a record of two megabytes is refused alone",
            post(
                "private/records/modify", saving(#"{"x":"\#(String(repeating: "x", count: 2 << 20))"}"#), 200,
                #"{"records":[{"recordName":"a","serverErrorCode":"BAD_REQUEST","reason":"<has too large>"}]}"#),
            nothingSaved),
        Scenario(
            "paths that lead nowhere answer in JSON",
            get("/database/1", 404, #"{"serverErrorCode":"NOT_FOUND"}"#),
            get(
                "/database/2/iCloud.com.example.Test/development/private/zones/list", 404,
                #"{"serverErrorCode":"NOT_FOUND","uuid":"<any>","reason":"<any>"}"#),
            get("private/zones", 404, #"{"serverErrorCode":"NOT_FOUND"}"#),
            get("private/zones/list/more", 404, #"{"serverErrorCode":"NOT_FOUND"}"#),
            post(
                "private/records/frobnicate", "{}", 404, #"{"serverErrorCode":"NOT_FOUND","reason":"<has frobnicate>"}"#
            ),
            get(
                "secret/zones/list", 400,
                #"{"serverErrorCode":"BAD_REQUEST","reason":"Invalid database 'secret', expected public, private or shared"}"#
            ),
            get(
                "/database/1/iCloud.com.example.Test/staging/private/zones/list", 400,
                #"{"reason":"<has Invalid environment 'staging'>"}"#),
            get(
                "/database/1/com.example.Test/development/private/zones/list", 400,
                #"{"reason":"<has Invalid container>"}"#),
            get(
                "/database/1/iCloud.%2E%2E%2Fetc/development/private/zones/list", 400,
                #"{"reason":"<has Invalid container>"}"#),
            get(
                "private/records/query", 405,
                #"{"serverErrorCode":"BAD_REQUEST","reason":"<has Method GET is not allowed>"}"#),
            call("DELETE", "private/zones/list", "", 405, #"{"serverErrorCode":"BAD_REQUEST"}"#),
            call(
                "PROPFIND", "private/zones/list", "", 405,
                #"{"serverErrorCode":"BAD_REQUEST","reason":"<has 'zones/list' accepts GET, POST>"}"#),
            call("PROPFIND", "private/zones/none", "", 404, #"{"serverErrorCode":"NOT_FOUND"}"#),
            call(
                "PUT", "private/subscriptions/modify", "", 405,
                #"{"serverErrorCode":"BAD_REQUEST","reason":"<has 'subscriptions/modify' accepts POST>"}"#),
            call(
                "DELETE", "private/subscriptions/list", "", 405,
                #"{"reason":"<has 'subscriptions/list' accepts GET, POST>"}"#)),
        Scenario(
            "a zone that nobody names is the default zone",
            post(
                "private/zones/lookup", #"{"zones":[{},{"zoneID":{}},{"zoneName":null}]}"#, 200,
                #"{"zones":[{"zoneID":{"zoneName":"_defaultZone"}},{"zoneID":{"zoneName":"_defaultZone"}},{"zoneID":{"zoneName":"_defaultZone"}}]}"#
            ),
            post(
                "private/zones/modify",
                #"{"operations":[{"operationType":"create","zone":{}},{"operationType":"delete","zone":{"zoneID":{}}}]}"#,
                200,
                #"{"zones":[{"zoneID":{"zoneName":"_defaultZone"},"serverErrorCode":"BAD_REQUEST"},{"zoneID":{"zoneName":"_defaultZone"},"serverErrorCode":"BAD_REQUEST"}]}"#
            ),
            post(
                "private/changes/zone", #"{"zones":[{}]}"#, 200,
                #"{"zones":[{"zoneID":{"zoneName":"_defaultZone"},"serverErrorCode":"BAD_REQUEST"}]}"#),
            post(
                "private/records/lookup", #"{"zoneID":{},"records":[{"recordName":"a"}]}"#, 200,
                #"{"records":[{"serverErrorCode":"NOT_FOUND"}]}"#),
            post(
                "/skylight/1/iCloud.com.example.Test/development/private/zones/purge", "{}", 400,
                #"{"reason":"<has zoneName>"}"#)),
        Scenario(
            "an environment is written in any case, as records/resolve has it in capitals",
            post(
                "/database/1/iCloud.com.example.Test/DEVELOPMENT/private/records/modify", saving(#"{"x":1}"#), 200,
                #"{"records":[{"recordName":"a"}]}"#),
            post(
                "/database/1/iCloud.com.example.Test/Development/private/records/lookup",
                #"{"records":[{"recordName":"a"}]}"#, 200, #"{"records":[{"fields":{"x":{"value":1}}}]}"#),
            post(
                "/device/1/iCloud.com.example.Test/DEVELOPMENT/tokens/create", #"{"apnsEnvironment":"DEVELOPMENT"}"#,
                200, #"{"apnsEnvironment":"development"}"#),
            get("/skylight/1/iCloud.com.example.Test/DEVELOPMENT/public/schema"),
            get(
                "/skylight/1/iCloud.com.example.Test/DEVELOPMENT/assets/facts", 400,
                #"{"reason":"<has 'fileChecksum'>"}"#),
            post(
                "/skylight/1/iCloud.com.example.Test/development/public/schema/diff", #"{"environment":"PRODUCTION"}"#),
            get(
                "/database/1/iCloud.com.example.Test/DEVELOP/private/zones/list", 400,
                #"{"reason":"Invalid environment 'DEVELOP', expected development or production"}"#),
            // Nothing is known of databases in capitals.
            get(
                "/database/1/iCloud.com.example.Test/development/PRIVATE/zones/list", 400,
                #"{"reason":"Invalid database 'PRIVATE', expected public, private or shared"}"#)),
        Scenario(
            "too many items are refused with the name of their member",
            parts: [
                ("records/lookup", "records"), ("records/modify", "operations"), ("zones/lookup", "zones"),
                ("zones/modify", "operations"), ("changes/zone", "zones"),
                ("assets/upload", "tokens"), ("assets/rereference", "assets"),
                ("subscriptions/lookup", "subscriptions"),
                ("subscriptions/modify", "operations"), ("records/resolve", "shortGUIDs"),
                ("records/accept", "shortGUIDs"), ("users/discover", "lookupInfos"),
                ("users/lookup/email", "users"), ("users/lookup/id", "users"),
                ("/skylight/1/iCloud.com.example.Test/development/private/keyvalues/modify", "operations"),
            ].map { service, member in
                let count = service.contains("keyvalues") ? 2049 : 201
                let item = service.contains("keyvalues") ? #"{"operationType":"remove","key":"k"}"# : "{}"
                return post(
                    service.hasPrefix("/")
                        ? service
                        : "\(member == "shortGUIDs" || service.hasPrefix("users") ? "public" : "private")/\(service)",
                    #"{"\#(member)":[\#(Array(repeating: item, count: count).joined(separator: ","))]}"#, 400,
                    #"{"serverErrorCode":"BAD_REQUEST","reason":"<has BadRequestException: array '\#(member)' length is greater than max size. It has \#(count) items>"}"#
                )
            }),
        Scenario(
            "services of devices are at their own path",
            post("public/users/lookup/nothing", "{}", 404, #"{"serverErrorCode":"NOT_FOUND"}"#),
            post(
                "/device/1/iCloud.com.example.Test/development/tokens/burn", "{}", 404,
                #"{"serverErrorCode":"NOT_FOUND"}"#),
            post(
                "/device/1/iCloud.com.example.Test/development/zones/list", "{}", 404,
                #"{"serverErrorCode":"NOT_FOUND"}"#),
            get(
                "/device/1/iCloud.com.example.Test/development/tokens/create", 405,
                #"{"reason":"<has 'tokens/create' accepts POST>"}"#),
            post("private/tokens/create", "{}", 405, #"{"reason":"<has /device/1/>"}"#),
            post(
                "/database/1/iCloud.com.example.Test/development/tokens/create", "{}", 405,
                #"{"serverErrorCode":"BAD_REQUEST","reason":"<has /device/1/>"}"#),
            get(
                "/database/1/iCloud.com.example.Test/development/tokens/register", 405,
                #"{"reason":"<has /device/1/>"}"#),
            post(
                "/database/1/iCloud.com.example.Test/development/tokens/burn", "{}", 404,
                #"{"serverErrorCode":"NOT_FOUND"}"#),
            post(
                "/device/1/iCloud.com.example.Test/development/private/tokens/create", "{}", 404,
                #"{"serverErrorCode":"NOT_FOUND"}"#)),
        Scenario(
            "who asks",
            get(
                "public/users/caller", 200,
                #"{"userRecordName":"$developer","nameComponents":{"givenName":"Developer"},"users":[{"userRecordName":"$developer","lookupInfo":{"userRecordName":"$developer"}}]}"#
            ),
            get(
                "public/users/caller?ckAPIToken=abc&ckWebAuthToken=x%2Fy&skylightUser=anna", 200,
                #"{"userRecordName":"$anna","users":[{"userRecordName":"$anna"}]}"#),
            post("public/users/caller", "", 200, "{}", keeping: ["zoe": "userRecordName"], as: "Zo\u{EB}"),
            get(
                "public/users/caller?skylightUser=Zo%C3%AB", 200,
                #"{"userRecordName":"$zoe","nameComponents":{"givenName":"Zo\u00eb"}}"#),
            get(
                "public/users/current", 200, #"{"userRecordName":"$anna","firstName":"Anna","users":"<absent>"}"#,
                as: "anna"),
            get(
                "public/users/caller", 200, #"{"userRecordName":"_0123456789abcdef0123456789abcdef"}"#,
                as: "_0123456789abcdef0123456789abcdef"),
            get(
                "public/users/caller?skylightUser=\(String(repeating: "x", count: 300))", 400,
                #"{"serverErrorCode":"BAD_REQUEST","reason":"<has longer than 255>"}"#),
            get("public/users/caller?skylightUser=a%0Ab", 400, #"{"reason":"<has control characters>"}"#)),
    ]
}
