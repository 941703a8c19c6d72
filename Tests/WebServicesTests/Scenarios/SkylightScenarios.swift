import RecordStore
import Records

// Skylight's own services: docs/services.md.

extension Scenario {
    private static let root = "/skylight/1/\(ScenarioRunner.container)/development/private"

    private static let begun: [Step] = [
        post(
            "private/zones/modify", #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}"#),
        post(
            "private/records/modify",
            #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"create","record":{"recordType":"N","recordName":"a","fields":{"x":1}}},{"operationType":"create","record":{"recordType":"N","recordName":"b","fields":{"link":{"value":{"recordName":"a","action":"DELETE_SELF"},"type":"REFERENCE"}}}}]}"#
        ),
    ]

    private static let gone = #"{"serverErrorCode":"ZONE_NOT_FOUND","reason":"Zone does not exist"}"#
    private static let nowhere = #"{"zoneID":{"zoneName":"no"}}"#

    static let skylight: [Scenario] = [
        Scenario(
            "the server says who and what there is",
            get("/skylight/1/health", 200, #"{"status":"ok","version":"\#(SkylightVersion.current)","stores":[]}"#),
            get("/skylight/1/containers", 200, #"{"containers":[]}"#),
            get(
                "/skylight/1/users", 200,
                #"{"users":[{"handle":"developer","userRecordName":"$developer","displayName":"Developer"}]}"#),
            get("/skylight/1/users/caller", 200, #"{"userRecordName":"$anna"}"#, as: "anna"),
            get("/skylight/1/users/caller?skylightUser=anna", 200, #"{"userRecordName":"$anna"}"#),
            get(
                "/skylight/1/users", 200,
                #"{"users":[{"handle":"developer"},{"handle":"anna","userRecordName":"$anna"}]}"#),
            post(
                "private/zones/modify",
                #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"One"}}}]}"#),
            get(
                "/skylight/1/health", 200,
                #"{"status":"ok","stores":[{"container":"\#(ScenarioRunner.container)","environment":"development","status":"ok","reason":"<absent>"}]}"#
            ),
            get("/skylight/1/containers", 200, #"{"containers":["\#(ScenarioRunner.container)"]}"#),
            get("/skylight/1/users/caller?skylightUser=%00", 400, #"{"serverErrorCode":"BAD_REQUEST"}"#),
            call(
                "POST", "/skylight/1/health", "{}", 405,
                #"{"serverErrorCode":"BAD_REQUEST","reason":"<has 'health' accepts GET>"}"#),
            call("DELETE", "/skylight/1/users", "", 405, #"{"reason":"<has 'users' accepts GET>"}"#)),
        Scenario(
            "a service that is not there names those that are",
            get(
                "/skylight/1/nothing", 404,
                #"{"serverErrorCode":"NOT_FOUND","reason":"<has 'nothing' under /skylight/1; expected one of accounts/administrator>"}"#
            ),
            get("/skylight/1/", 404, #"{"serverErrorCode":"NOT_FOUND"}"#),
            get("\(root)/records/forget", 404, #"{"reason":"<has changes/follow, changes/page>"}"#),
            post("\(root)/records/resolve", "{}", 404, #"{"serverErrorCode":"NOT_FOUND"}"#),
            post("\(root)", "{}", 404, #"{"serverErrorCode":"NOT_FOUND"}"#),
            get(
                "/skylight/1/iCloud.com.example.Test/staging/private/schema", 400,
                #"{"reason":"<has environment 'staging'>"}"#),
            get(
                "/skylight/1/iCloud.com.example.Test/development/mine/schema", 400,
                #"{"reason":"<has database 'mine'>"}"#)),
        Scenario(
            "what became of a record is told, and an earlier version brought back",
            begun[0], begun[1],
            post(
                "private/records/modify",
                #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"forceUpdate","record":{"recordType":"N","recordName":"a","fields":{"x":2}}}]}"#,
                200,
                keeping: ["tag": "records[0].recordChangeTag"]),
            get(
                "\(root)/records/journal?zone=Z&recordName=a&resultsLimit=1", 200,
                #"{"changes":[{"change":"modified","recordType":"N","recordChangeTag":"$tag","modified":{"userRecordName":"$developer"},"fields":{"x":{"value":2}}}],"kept":{"days":30,"versions":100}}"#
            ),
            post(
                "\(root)/records/journal", #"{"recordName":"a","zoneID":{"zoneName":"Z"}}"#, 200,
                #"{"changes":[{"change":"modified"},{"change":"created","fields":{"x":{"value":1}}}],"before":"<absent>"}"#,
                keeping: ["first": "changes[1].position", "last": "changes[0].position"]),
            get(
                "\(root)/records/journal?zone=Z&recordName=a&before=$last", 200, #"{"changes":[{"change":"created"}]}"#),
            post(
                "\(root)/records/revert",
                #"{"recordName":"a","zoneID":{"zoneName":"Z"},"position":$first,"recordChangeTag":"no"}"#, 409,
                #"{"serverErrorCode":"CONFLICT"}"#),
            post(
                "\(root)/records/revert",
                #"{"recordName":"a","zoneID":{"zoneName":"Z"},"position":$first,"recordChangeTag":"$tag"}"#, 200,
                #"{"recordName":"a","recordType":"N","fields":{"x":{"value":1}}}"#),
            post(
                "\(root)/records/revert", #"{"recordName":"a","zoneID":{"zoneName":"Z"},"position":9999}"#, 404,
                #"{"serverErrorCode":"NOT_FOUND"}"#),
            post(
                "\(root)/records/revert", #"{"recordName":"a","zoneID":{"zoneName":"Z"}}"#, 400,
                #"{"reason":"<has 'position'>"}"#),
            get("\(root)/records/journal?zone=Z", 400, #"{"reason":"<has 'recordName'>"}"#),
            get("\(root)/records/journal?zone=Z&recordName=never", 200, #"{"changes":[]}"#),
            get("\(root)/records/journal?zone=no&recordName=a", 404, gone),
            call("GET", "\(root)/records/revert", "", 405)),
        Scenario(
            "the schema is read and edited",
            begun[0], begun[1],
            get(
                "\(root)/schema", 200,
                #"{"types":[{"name":"N","fields":{"link":{"type":"REFERENCE","indexes":["QUERYABLE"]},"x":{"type":"INT64","indexes":["QUERYABLE","SORTABLE"]}},"systemIndexes":{}},{"name":"Users"}],"roles":[]}"#
            ),
            post(
                "\(root)/schema/edit",
                #"{"edits":[{"addType":{"name":"M","fields":{"s":{"type":"ENCRYPTED_STRING_LIST"}}}},{"setIndexes":["QUERYABLE"],"field":"nothing","recordType":"N"},{"setIndexes":["QUERYABLE"],"field":"___recordID","recordType":"N"}]}"#,
                400, #"{"serverErrorCode":"BAD_REQUEST"}"#),
            post(
                "\(root)/schema/edit",
                #"{"edits":[{"addType":{"name":"M","fields":{"s":{"type":"ENCRYPTED_STRING_LIST"}}}},{"setIndexes":["queryable"],"field":"___recordID","recordType":"N"},{"setIndexes":[],"field":"x","recordType":"N"}]}"#,
                200,
                #"{"types":[{"name":"M","fields":{"s":{"type":"ENCRYPTED_STRING_LIST","indexes":[]}},"grants":[{"role":"_creator","permissions":["WRITE"]},{"role":"_icloud"},{"role":"_world"}]},{"name":"N","fields":{"x":{"indexes":[]}},"systemIndexes":{"___recordID":["QUERYABLE"]}},{"name":"Users"}]}"#
            ),
            post("\(root)/schema/edit", "{}", 400, #"{"reason":"<has Expected 'edits' to be an array>"}"#),
            post(
                "\(root)/schema/edit", #"{"edits":[{"setIndexes":["FAST"],"field":"x","recordType":"N"}]}"#, 400,
                #"{"reason":"<has Unknown index 'FAST'>"}"#),
            post(
                "\(root)/schema/edit", #"{"edits":[{"addType":{"name":"M","fields":{"s":{"type":"TEXT"}}}}]}"#, 400,
                #"{"reason":"<has the field 's'>"}"#),
            post(
                "/skylight/1/\(ScenarioRunner.container)/production/private/schema/edit",
                #"{"edits":[{"addType":{"name":"M"}}]}"#, 403, #"{"serverErrorCode":"ACCESS_DENIED"}"#),
            get("\(root)/schema/edit", 405, #"{"reason":"<has 'schema/edit' accepts POST>"}"#)),
        Scenario(
            "a zone is shown to others, and taken away again",
            begun[0], begun[1],
            post(
                "\(root)/zones/share",
                #"{"zoneID":{"zoneName":"Z"},"userRecordName":"$anna","permission":"READ_ONLY"}"#, 200,
                #"{"participants":[{"userRecordName":"$anna","permission":"READ_ONLY"}]}"#),
            get(
                "\(root)/zones/participants?zone=Z", 200,
                #"{"zoneID":{"zoneName":"Z"},"participants":[{"userRecordName":"$anna","permission":"READ_ONLY"}]}"#),
            get(
                "shared/zones/list", 200, #"{"zones":[{"zoneID":{"zoneName":"Z","ownerRecordName":"$developer"}}]}"#,
                as: "anna"),
            post(
                "\(root)/zones/unshare", #"{"zoneID":{"zoneName":"Z"},"userRecordName":"$anna"}"#, 200,
                #"{"participants":[]}"#),
            post(
                "\(root)/zones/unshare", #"{"zoneID":{"zoneName":"Z"},"userRecordName":"$anna"}"#, 404,
                #"{"serverErrorCode":"NOT_FOUND"}"#),
            post("\(root)/zones/share", #"{"zoneID":{"zoneName":"Z"}}"#, 400, #"{"reason":"<has 'userRecordName'>"}"#),
            post(
                "\(root)/zones/share", #"{"zoneID":{"zoneName":"Z"},"userRecordName":"anna"}"#, 400,
                #"{"serverErrorCode":"BAD_REQUEST","reason":"<has 32 lowercase hexadecimal digits>"}"#),
            post(
                "\(root)/zones/share",
                #"{"zoneID":{"zoneName":"Z"},"userRecordName":"_0000000000000000000000000000000A"}"#, 400,
                #"{"reason":"<has 'userRecordName'>"}"#),
            post(
                "\(root)/zones/share",
                #"{"zoneID":{"zoneName":"Z"},"userRecordName":"_0000000000000000000000000000000a\u0301"}"#, 400,
                #"{"reason":"<has 'userRecordName'>"}"#),
            post("\(root)/zones/participants", #"{"zoneID":{"zoneName":"Z"}}"#, 200, #"{"participants":[]}"#),
            // A user who does not exist yet.
            post(
                "\(root)/zones/share",
                #"{"zoneID":{"zoneName":"Z"},"userRecordName":"_0000000000000000000000000000000a"}"#, 200),
            post(
                "\(root)/zones/unshare",
                #"{"zoneID":{"zoneName":"Z"},"userRecordName":"_0000000000000000000000000000000a"}"#, 200,
                #"{"participants":[]}"#),
            post(
                "\(root)/zones/share", #"{"zoneID":{"zoneName":"Z"},"userRecordName":"$anna","permission":"ALL"}"#, 400,
                #"{"reason":"<has READ_WRITE>"}"#),
            post("\(root)/zones/share", #"{"zoneID":{"zoneName":"no"},"userRecordName":"$anna"}"#, 404, gone),
            get("\(root)/zones/participants?zone=no", 404, gone),
            get("\(root)/zones/share?zone=Z", 405, #"{"reason":"<has accepts POST>"}"#),
            get("\(root)/zones/unshare?zone=Z", 405)),
        Scenario(
            "a zone is purged",
            begun[0], begun[1],
            post("\(root)/zones/purge", nowhere, 404, gone),
            post("\(root)/zones/purge", "{}", 400, #"{"reason":"<has 'zoneName'>"}"#),
            get("\(root)/zones/purge?zone=Z", 405),
            post(
                "\(root)/changes/zones", "{}", 200,
                #"{"zones":[{"zoneID":{"zoneName":"Z"},"change":"changed","timestamp":"<any>","syncToken":"<any>"}],"moreComing":false}"#,
                keeping: ["token": "syncToken"]),
            post("\(root)/zones/purge", #"{"zoneName":"Z"}"#, 200, #"{"zoneID":{"zoneName":"Z"},"purged":true}"#),
            post(
                "\(root)/changes/zones", #"{"syncToken":"$token"}"#, 200,
                #"{"zones":[{"zoneID":{"zoneName":"Z"},"change":"purged","syncToken":"<absent>"}]}"#),
            post("\(root)/changes/zones", "{}", 200, #"{"zones":[]}"#),
            post("\(root)/changes/zones", #"{"includesGoneZones":true}"#, 200, #"{"zones":[{"change":"purged"}]}"#),
            post("\(root)/changes/zones", #"{"includesGoneZones":1}"#, 400),
            get("\(root)/changes/zones", 405)),
        Scenario(
            "changes come with kinds, positions and what was deleted",
            begun[0], begun[1],
            post(
                "\(root)/changes/page", #"{"zoneID":{"zoneName":"Z"}}"#, 200,
                #"{"zoneID":{"zoneName":"Z","ownerRecordName":"$developer"},"changes":[{"change":"created","position":"<any>","record":{"recordName":"a","recordType":"N","fields":{"x":{"value":1}},"zoneID":{"zoneName":"Z"}}},{"record":{"recordName":"b"}}],"moreComing":false}"#,
                keeping: ["token": "syncToken"]),
            post(
                "\(root)/changes/page", #"{"zoneID":{"zoneName":"Z"},"bytesLimit":0}"#, 200,
                #"{"changes":[{"record":{"recordName":"a"}}],"moreComing":true}"#),
            post(
                "\(root)/changes/page",
                #"{"zoneID":{"zoneName":"Z"},"reverse":true,"resultsLimit":1,"desiredKeys":[]}"#, 200,
                #"{"changes":[{"record":{"recordName":"b","fields":{"link":"<absent>"}}}],"moreComing":true}"#),
            post(
                "private/records/modify",
                #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"forceDelete","record":{"recordName":"a"}}]}"#
            ),
            post(
                "\(root)/changes/page", #"{"zoneID":{"zoneName":"Z"},"syncToken":"$token"}"#, 200,
                #"{"changes":[{"change":"deleted","record":{"recordName":"a","recordType":"N","recordChangeTag":"<any>","created":{"userRecordName":"$developer"},"modified":{"userRecordName":"$developer","deviceID":"<any>"},"deleted":true,"fields":"<absent>","zoneID":{"zoneName":"Z"}}},{"change":"deleted"}]}"#
            ),
            post("\(root)/changes/page", nowhere, 404, gone),
            post(
                "\(root)/changes/page", #"{"zoneID":{"zoneName":"Z"},"resultsLimit":0}"#, 400,
                #"{"reason":"<has 'resultsLimit' to be a whole number above 0, found 0>"}"#),
            post(
                "\(root)/changes/page", #"{"zoneID":{"zoneName":"Z"},"bytesLimit":-1}"#, 400,
                #"{"reason":"<has 'bytesLimit'>"}"#),
            post(
                "\(root)/changes/page", #"{"zoneID":{"zoneName":"Z"},"syncToken":"AAAA"}"#, 400,
                #"{"reason":"Unknown sync continuation type"}"#),
            post("\(root)/changes/page", "{", 400, #"{"serverErrorCode":"BAD_REQUEST"}"#),
            get("\(root)/changes/page?zone=Z", 405)),
        Scenario(
            "records are listed, counted and traced by both verbs",
            begun[0], begun[1],
            get(
                "\(root)/records/list?zone=Z", 200,
                #"{"records":[{"recordName":"a","fields":{"x":{"value":1}}},{"recordName":"b"}],"last":"<absent>"}"#),
            get("\(root)/records/list?zone=Z&resultsLimit=1", 200, #"{"records":[{"recordName":"a"}],"last":"a"}"#),
            post(
                "\(root)/records/list", #"{"zoneID":{"zoneName":"Z"},"after":"a","recordTypes":["N"]}"#, 200,
                #"{"records":[{"recordName":"b"}],"last":"<absent>"}"#),
            get("\(root)/records/list?zone=Z&recordTypes=M,O", 200, #"{"records":[]}"#),
            get("\(root)/records/list?zone=no", 404, gone),
            get("\(root)/records/list", 400, #"{"reason":"<has 'zoneName'>"}"#),
            get("\(root)/records/list?zone=Z&resultsLimit=many", 400, #"{"reason":"<has resultsLimit>"}"#),
            get("\(root)/records/counts?zone=Z", 200, #"{"records":{"N":2},"total":2,"deletions":0}"#),
            post("\(root)/records/counts", nowhere, 404, gone),
            post("\(root)/records/counts", "{}", 400),
            get(
                "\(root)/records/referrers?zone=Z&recordName=a", 200,
                #"{"referrers":[{"recordName":"b","recordType":"N","fieldName":"link","action":"DELETE_SELF"}]}"#),
            post(
                "\(root)/records/referrers", #"{"recordName":"b","zoneID":{"zoneName":"Z"}}"#, 200, #"{"referrers":[]}"#
            ),
            post(
                "\(root)/records/referrers", #"{"zoneID":{"zoneName":"Z"}}"#, 400, #"{"reason":"<has 'recordName'>"}"#),
            get("\(root)/records/referrers?zone=no&recordName=a", 404, gone),
            call("PUT", "\(root)/records/list", "{}", 405, #"{"reason":"<has accepts GET, POST>"}"#),
            call("DELETE", "\(root)/records/counts", "", 405),
            call("PATCH", "\(root)/records/referrers", "", 405)),
        Scenario(
            "a query may ask for large pages here",
            begun[0], begun[1], index("___recordID", of: "N", .queryable),
            post(
                "\(root)/records/query", #"{"query":{"recordType":"N"},"zoneID":{"zoneName":"Z"},"resultsLimit":5000}"#,
                200, #"{"records":[{"recordName":"a"},{"recordName":"b"}],"continuationMarker":"<absent>"}"#),
            post(
                "\(root)/records/query", #"{"query":{"recordType":"N"},"zoneID":{"zoneName":"Z"},"bytesLimit":1}"#, 200,
                #"{"records":[{"recordName":"a"}],"continuationMarker":"<any>"}"#),
            post("\(root)/records/query", #"{"query":{"recordType":"N"},"zoneID":{"zoneName":"no"}}"#, 404, gone),
            post("\(root)/records/query", #"{"query":[]}"#, 400, #"{"reason":"<has 'query'>"}"#),
            get("\(root)/records/query", 405)),
        Scenario(
            "a restored record keeps who made it when; a saved one doesn't",
            begun[0],
            post(
                "\(root)/records/restore",
                #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"create","record":{"recordType":"N","recordName":"r","fields":{"x":1},"created":{"timestamp":1000,"userRecordName":"_1","deviceID":"d"},"modified":{"timestamp":2000,"userRecordName":"_2","deviceID":"e"}}}]}"#,
                200,
                #"{"records":[{"recordName":"r","created":{"timestamp":1000,"userRecordName":"_1","deviceID":"d"},"modified":{"timestamp":2000,"userRecordName":"_2","deviceID":"e"}}]}"#
            ),
            post(
                "private/records/modify",
                #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"create","record":{"recordType":"N","recordName":"s","created":{"timestamp":1000,"userRecordName":"_1","deviceID":"d"},"modified":{"timestamp":2000,"userRecordName":"_2","deviceID":"e"}}}]}"#,
                200,
                #"{"records":[{"recordName":"s","created":{"userRecordName":"$developer"},"modified":{"userRecordName":"$developer"}}]}"#
            ),
            post(
                "\(root)/records/restore",
                #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"create","record":{"recordType":"N","created":{"timestamp":"now","userRecordName":"_1"},"modified":{}}}]}"#,
                400, #"{"reason":"<has operations[0].record.created.timestamp>"}"#),
            post(
                "\(root)/records/restore",
                #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"create","record":{"recordType":"N","created":{"timestamp":1,"userRecordName":"_1"}}}]}"#,
                400, #"{"serverErrorCode":"BAD_REQUEST","reason":"<has 'operations[0].record.modified'>"}"#),
            post(
                "\(root)/records/restore",
                #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"create","record":{"recordType":"N","created":null,"modified":{"timestamp":1,"userRecordName":"_1"}}}]}"#,
                400, #"{"serverErrorCode":"BAD_REQUEST","reason":"<has 'operations[0].record.created'>"}"#),
            post(
                "\(root)/records/restore",
                #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"create","record":{"recordType":"N"}}]}"#,
                200,
                #"{"records":[{"created":{"userRecordName":"$developer"},"modified":{"userRecordName":"$developer"}}]}"#
            ),
            post(
                "\(root)/records/restore",
                #"{"zoneID":{"zoneName":"no"},"operations":[{"operationType":"create","record":{"recordType":"N"}}]}"#,
                200, #"{"records":[{"serverErrorCode":"ZONE_NOT_FOUND"}]}"#),
            get("\(root)/records/restore", 405)),
        Scenario(
            "tokens are told, explained and expired",
            begun[0], begun[1],
            get("\(root)/token/current?zone=Z", 200, #"{"zoneID":{"zoneName":"Z"},"syncToken":"<any>"}"#),
            post("\(root)/changes/page", #"{"zoneID":{"zoneName":"Z"}}"#, 200, "{}", keeping: ["token": "syncToken"]),
            get("\(root)/token/explain?token=$token", 200, #"{"subject":"zone","standing":"good","changesAfter":0}"#),
            get("\(root)/token/explain", 400, #"{"reason":"<has 'token'>"}"#),
            get("\(root)/token/current?zone=no", 404, gone),
            call("POST", "\(root)/token/current", "{}", 405, #"{"reason":"<has 'token/current' accepts GET>"}"#),
            call("POST", "\(root)/changes/playback", "{}", 405), call("POST", "\(root)/changes/follow", "{}", 405),
            call("POST", "\(root)/commits", "{}", 405),
            get("\(root)/tokens/expire", 405),
            post("\(root)/tokens/expire", "[]", 400),
            post("\(root)/tokens/expire", "", 200, #"{"expired":true}"#),
            get(
                "\(root)/token/explain?token=$token", 200,
                #"{"standing":"expired","why":"<any>","changesAfter":"<absent>"}"#),
            post(
                "\(root)/changes/page", #"{"zoneID":{"zoneName":"Z"},"syncToken":"$token"}"#, 400,
                #"{"reason":"client knowledge differs from server knowledge"}"#)),
    ]
}
