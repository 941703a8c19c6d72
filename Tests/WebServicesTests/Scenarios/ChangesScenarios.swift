import Accounts
import RecordStore
import Records

// zones/*, changes/* and records/changes.

extension Scenario {
    private static let zones = post(
        "private/zones/modify",
        #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}},{"operationType":"create","zone":{"zoneID":{"zoneName":"Y"}}}]}"#
    )

    private static func save(_ names: String..., zone: String = "Z") -> Step {
        let operations = names.map {
            #"{"operationType":"forceUpdate","record":{"recordType":"N","recordName":"\#($0)","fields":{"x":1,"y":2}}}"#
        }
        return post(
            "private/records/modify",
            #"{"zoneID":{"zoneName":"\#(zone)"},"operations":[\#(operations.joined(separator: ","))]}"#)
    }

    private static func delete(_ name: String) -> Step {
        post(
            "private/records/modify",
            #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"forceDelete","record":{"recordName":"\#(name)"}}]}"#
        )
    }

    private static func share(_ permission: ZoneParticipant.Permission) -> Step {
        .act { engine in
            let database = try await engine.database(ScenarioRunner.address, as: ScenarioRunner.developer)
            let participant = ZoneParticipant(userRecordName: User.recordName(ofHandle: "anna"), permission: permission)
            try await database.share(ZoneID(zoneName: "Z"), with: participant, on: engine)
        }
    }

    static let changes: [Scenario] = [
        Scenario(
            "zones are made, listed by both verbs, looked up and deleted",
            post(
                "private/zones/modify",
                #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}},{"operationType":"delete","zone":{"zoneID":{"zoneName":"no"}}},{"operationType":"create","zone":{"zoneID":{"zoneName":"_bad"}}}]}"#,
                200,
                #"""
                {"zones":[{"zoneID":{"zoneName":"Z","ownerRecordName":"$developer","zoneType":"REGULAR_CUSTOM_ZONE"},"syncToken":"<any>","atomic":true},
                 {"zoneID":{"zoneName":"no"},"serverErrorCode":"ZONE_NOT_FOUND","reason":"Zone does not exist"},
                 {"zoneID":{"zoneName":"_bad"},"serverErrorCode":"BAD_REQUEST","reason":"<any>"}]}
                """#, keeping: ["token": "zones[0].syncToken"]),
            get(
                "private/zones/list", 200,
                #"{"zones":[{"zoneID":{"zoneName":"_defaultZone","zoneType":"DEFAULT_ZONE"},"syncToken":"<absent>","atomic":false},{"zoneID":{"zoneName":"Z"},"syncToken":"$token"}]}"#
            ),
            post(
                "private/zones/list", "{}", 200,
                #"{"zones":[{"zoneID":{"zoneName":"_defaultZone"}},{"zoneID":{"zoneName":"Z"}}]}"#),
            get("public/zones/list", 200, #"{"zones":[{"zoneID":{"zoneName":"_defaultZone"}}]}"#),
            post(
                "private/zones/lookup",
                #"{"zones":[{"zoneName":"Z"},{"zoneID":{"zoneName":"Z","ownerRecordName":"_defaultOwner"}},{"zoneName":"no"}]}"#,
                200,
                #"{"zones":[{"zoneID":{"zoneName":"Z"},"syncToken":"$token"},{"zoneID":{"zoneName":"Z"}},{"zoneID":{"zoneName":"no"},"serverErrorCode":"ZONE_NOT_FOUND","reason":"Zone does not exist"}]}"#
            ),
            post(
                "private/zones/modify",
                #"{"operations":[{"operationType":"delete","zone":{"zoneID":{"zoneName":"Z"}}}]}"#, 200,
                #"{"zones":[{"zoneID":{"zoneName":"Z"},"deleted":true,"syncToken":"<absent>"}]}"#),
            get("private/zones/list", 200, #"{"zones":[{"zoneID":{"zoneName":"_defaultZone"}}]}"#),
            get(
                "private/zones/list", 200,
                #"{"zones":[{"zoneID":{"zoneName":"_defaultZone","ownerRecordName":"$anna"}}]}"#, as: "anna")),
        Scenario(
            "a pull lists what exists, then what changed, deletions marked",
            zones, save("a", "b"), delete("b"), save("c"),
            post(
                "private/changes/zone", #"{"zones":[{"zoneID":{"zoneName":"Z"}}]}"#, 200,
                #"{"zones":[{"zoneID":{"zoneName":"Z","ownerRecordName":"$developer"},"records":[{"recordName":"a","fields":{"x":{"value":1}}},{"recordName":"c"}],"moreComing":false,"syncToken":"<any>"}]}"#,
                keeping: ["token": "zones[0].syncToken"]),
            post(
                "private/changes/zone", #"{"zones":[{"zoneID":{"zoneName":"Z"},"syncToken":"$token"}]}"#, 200,
                #"{"zones":[{"records":[],"moreComing":false,"syncToken":"$token"}]}"#),
            save("a"), delete("c"), save("d"),
            post(
                "private/changes/zone", #"{"zones":[{"zoneID":{"zoneName":"Z"},"syncToken":"$token"}]}"#, 200,
                #"{"zones":[{"records":[{"recordName":"a","deleted":false},{"recordName":"c","deleted":true,"fields":"<absent>"},{"recordName":"d"}],"moreComing":false}]}"#
            ),
            post(
                "private/records/changes", #"{"zoneID":{"zoneName":"Z"},"syncToken":"$token"}"#, 200,
                #"{"records":[{"recordName":"a"},{"recordName":"c","deleted":true},{"recordName":"d"}],"moreComing":false,"syncToken":"<any>"}"#
            ),
            post(
                "private/records/changes", #"{"zoneID":{"zoneName":"Z"},"syncToken":""}"#, 200,
                #"{"records":[{"recordName":"a"},{"recordName":"d"}]}"#)),
        Scenario(
            "pages go on with the new token, and limits of a zone come before those for all",
            zones, save("a", "b", "c"), save("k", "l", "m", zone: "Y"),
            post(
                "private/changes/zone",
                #"{"resultsLimit":1,"desiredKeys":["x"],"zones":[{"zoneID":{"zoneName":"Z"},"resultsLimit":2,"desiredKeys":[]},{"zoneID":{"zoneName":"Y"},"numbersAsStrings":true}]}"#,
                200,
                #"""
                {"zones":[{"records":[{"recordName":"a","fields":{"x":"<absent>"}},{"recordName":"b"}],"moreComing":true},
                 {"records":[{"recordName":"k","fields":{"x":{"value":"1"},"y":"<absent>"}}],"moreComing":true}]}
                """#, keeping: ["token": "zones[0].syncToken"]),
            post(
                "private/changes/zone", #"{"zones":[{"zoneID":{"zoneName":"Z"},"syncToken":"$token"}]}"#, 200,
                #"{"zones":[{"records":[{"recordName":"c"}],"moreComing":false}]}"#),
            post(
                "private/records/changes", #"{"zoneID":{"zoneName":"Z"},"resultsLimit":1,"reverse":true}"#, 200,
                #"{"records":[{"recordName":"c"}],"moreComing":true}"#)),
        Scenario(
            "wrong tokens fail zone by zone, in the words of the live service",
            zones, save("a"),
            post("private/changes/database", "{}", 200, "{}", keeping: ["database": "syncToken"]),
            post(
                "private/changes/zone", #"{"zones":[{"zoneID":{"zoneName":"Z"}},{"zoneID":{"zoneName":"Y"}}]}"#, 200,
                "{}", keeping: ["z": "zones[0].syncToken", "y": "zones[1].syncToken"]),
            post(
                "private/changes/zone",
                #"""
                {"zones":[{"zoneID":{"zoneName":"Z"},"syncToken":"garbage"},{"zoneID":{"zoneName":"Z"},"syncToken":"$y"},{"zoneID":{"zoneName":"Z"},"syncToken":"$database"},
                 {"zoneID":{"zoneName":"no"}},{"zoneID":{"zoneName":"_defaultZone"}},{"zoneID":{"zoneName":"Z"},"syncToken":"$z"}]}
                """#, 200,
                #"""
                {"zones":[{"zoneID":{"zoneName":"Z"},"serverErrorCode":"BAD_REQUEST","reason":"Unknown sync continuation type","records":"<absent>"},
                 {"serverErrorCode":"BAD_REQUEST","reason":"Unknown sync continuation type"},{"serverErrorCode":"BAD_REQUEST","reason":"Unknown sync continuation type"},
                 {"zoneID":{"zoneName":"no"},"serverErrorCode":"ZONE_NOT_FOUND","reason":"<any>"},
                 {"serverErrorCode":"BAD_REQUEST","reason":"syncToken operations supported only in SyncZone"},{"records":[],"syncToken":"$z"}]}
                """#),
            post(
                "private/changes/database", #"{"syncToken":"$z"}"#, 400,
                #"{"reason":"Unknown sync continuation type","serverErrorCode":"BAD_REQUEST","uuid":"<any>"}"#),
            post(
                "private/records/changes", #"{"zoneID":{"zoneName":"Z"},"syncToken":"$database"}"#, 400,
                #"{"reason":"Unknown sync continuation type"}"#),
            post(
                "private/records/changes", "{}", 400, #"{"reason":"syncToken operations supported only in SyncZone"}"#),
            post(
                "public/changes/database", "{}", 400, #"{"reason":"syncToken operations supported only in SyncZone"}"#),
            post(
                "private/changes/zone", #"{"zones":[{"zoneID":{"zoneName":"Z"}}]}"#, 200,
                #"{"zones":[{"serverErrorCode":"ZONE_NOT_FOUND"}]}"#, as: "anna"),
            post(
                "private/zones/modify",
                #"{"operations":[{"operationType":"delete","zone":{"zoneID":{"zoneName":"Z"}}},{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}"#
            ),
            post(
                "private/changes/zone", #"{"zones":[{"zoneID":{"zoneName":"Z"},"syncToken":"$z"}]}"#, 200,
                #"{"zones":[{"serverErrorCode":"BAD_REQUEST","reason":"client knowledge differs from server knowledge"}]}"#
            )),
        Scenario(
            "a zone of somebody else has no changes from new to old",
            zones, save("a"), share(.readOnly),
            post(
                "shared/changes/zone",
                #"{"zones":[{"zoneID":{"zoneName":"Z","ownerRecordName":"$developer"},"reverse":true}]}"#, 200,
                #"{"zones":[{"serverErrorCode":"BAD_REQUEST","reason":"Reverse sync of share db is unsupported"}]}"#,
                as: "anna")),
        Scenario(
            "the database says in which zones something happened",
            zones,
            post(
                "private/changes/database", "{}", 200,
                #"{"zones":[{"zoneID":{"zoneName":"Z"},"syncToken":"<any>","deleted":"<absent>"},{"zoneID":{"zoneName":"Y"}}],"syncToken":"<any>","moreComing":false}"#,
                keeping: ["token": "syncToken"]),
            post(
                "private/changes/database", #"{"syncToken":"$token"}"#, 200,
                #"{"zones":[],"syncToken":"$token","moreComing":false}"#),
            save("a", zone: "Y"),
            post(
                "private/zones/modify",
                #"{"operations":[{"operationType":"delete","zone":{"zoneID":{"zoneName":"Z"}}}]}"#),
            post(
                "private/changes/database", #"{"syncToken":"$token","resultsLimit":1}"#, 200,
                #"{"zones":[{"zoneID":{"zoneName":"Y"}}],"moreComing":true}"#,
                keeping: ["page": "syncToken"]),
            post(
                "private/changes/database", #"{"syncToken":"$page"}"#, 200,
                #"{"zones":[{"zoneID":{"zoneName":"Z"},"deleted":true,"syncToken":"<absent>"}],"moreComing":false}"#),
            post("private/changes/database", #"{"syncToken":""}"#, 200, #"{"zones":[{"zoneID":{"zoneName":"Y"}}]}"#),
            post(
                "private/zones/changes", #"{"syncToken":"whatever stands here is ignored"}"#, 200,
                #"{"zones":[{"zoneID":{"zoneName":"Y"}},{"zoneID":{"zoneName":"Z"},"deleted":true}],"metaSyncToken":"<any>","syncToken":"<absent>","moreComing":false}"#,
                keeping: ["meta": "metaSyncToken"]),
            post("private/zones/changes", #"{"metaSyncToken":"$meta"}"#, 200, #"{"zones":[],"metaSyncToken":"$meta"}"#),
            post(
                "private/zones/changes", #"{"metaSyncToken":"garbage"}"#, 400,
                #"{"reason":"Unknown sync continuation type"}"#)),
    ]
}
