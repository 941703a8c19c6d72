import RecordStore
import Records
import Testing

// records/modify and records/lookup.

extension Scenario {
    /// Adds what a schema has to that of development.
    private static func merge(_ text: String) -> Step {
        .act { engine in
            let database = try await engine.database(ScenarioRunner.address, as: ScenarioRunner.developer)
            let plan = try await SchemaImportPlan(
                importing: Schema(text: text), into: database.require(.showSchema).schema(), merging: true,
                production: nil)
            _ = try await database.require(.editSchema).edit(plan.edits)
        }
    }

    static let modify: [Scenario] = [
        Scenario(
            "a created record has the whole envelope, and lookup returns the same",
            post(
                "private/records/modify",
                #"{"operations":[{"operationType":"create","record":{"recordType":"Note","recordName":"a","fields":{"title":{"value":"Milk"}}}}]}"#,
                200,
                #"""
                {"records":[{"recordName":"a","recordType":"Note","fields":{"title":{"value":"Milk","type":"STRING"}},"pluginFields":{},
                 "recordChangeTag":"<any>","created":{"timestamp":"<any>","userRecordName":"$developer","deviceID":"iCloud"},
                 "modified":{"timestamp":"<any>","userRecordName":"$developer","deviceID":"iCloud"},"deleted":false,
                 "zoneID":{"zoneName":"_defaultZone","ownerRecordName":"$developer","zoneType":"DEFAULT_ZONE"},"parent":"<absent>"}],"syncToken":"<absent>"}
                """#, keeping: ["tag": "records[0].recordChangeTag"]),
            post(
                "private/records/lookup", #"{"records":[{"recordName":"a"}]}"#, 200,
                #"{"records":[{"recordName":"a","recordChangeTag":"$tag","fields":{"title":{"value":"Milk","type":"STRING"}}}]}"#
            )),
        Scenario(
            "fields may be raw or wrapped, typed or guessed, and null clears",
            post(
                "private/records/modify",
                #"""
                {"operations":[{"operationType":"forceReplace","record":{"recordType":"All","recordName":"a","fields":{
                 "raw":"x","number":3,"fraction":1.5,"flag":true,"when":{"value":1700000000123,"type":"TIMESTAMP"},
                 "big":{"value":9223372036854775807},"bytes":{"value":"AQID","type":"BYTES"},"whole":{"value":2,"type":"DOUBLE"},
                 "place":{"value":{"latitude":47.5,"longitude":-122.25,"altitude":12.5}},
                 "link":{"value":{"recordName":"b","action":"NONE"}},"words":["a","b"],"none":{"value":[],"type":"STRING_LIST"},
                 "gone":null,"gone2":{"value":null}}}}]}
                """#, 200,
                #"""
                {"records":[{"fields":{"raw":{"value":"x","type":"STRING"},"number":{"value":3,"type":"INT64"},"fraction":{"value":1.5,"type":"DOUBLE"},
                 "flag":{"value":1,"type":"INT64"},"when":{"value":1700000000123,"type":"TIMESTAMP"},"big":{"value":9223372036854775807,"type":"INT64"},
                 "bytes":{"value":"AQID","type":"BYTES"},"whole":{"value":2.0,"type":"DOUBLE"},
                 "place":{"value":{"latitude":47.5,"longitude":-122.25,"altitude":12.5},"type":"LOCATION"},
                 "link":{"value":{"recordName":"b","action":"NONE"},"type":"REFERENCE"},"words":{"value":["a","b"],"type":"STRING_LIST"},
                 "none":{"value":[],"type":"STRING_LIST"},"gone":"<absent>","gone2":"<absent>"}}]}
                """#),
            post(
                "private/records/modify",
                #"{"operations":[{"operationType":"forceUpdate","record":{"recordType":"All","recordName":"a","fields":{"raw":null,"number":{"value":null},"whole":5}}}]}"#,
                200,
                #"{"records":[{"fields":{"raw":"<absent>","number":"<absent>","whole":{"value":5.0,"type":"DOUBLE"},"fraction":{"value":1.5}}}]}"#
            ),
            post(
                "private/records/lookup",
                #"{"records":[{"recordName":"a"}],"numbersAsStrings":true,"desiredKeys":["big","fraction","when","raw"]}"#,
                200,
                #"{"records":[{"fields":{"big":{"value":"9223372036854775807","type":"INT64"},"fraction":{"value":"1.5"},"when":{"value":"1700000000123"},"raw":"<absent>","whole":"<absent>"}}]}"#
            )
        ),
        Scenario(
            "a field of which only the type is said has no value, and so has a parent of which nothing is said",
            post(
                "private/records/modify",
                #"{"operations":[{"operationType":"create","record":{"recordType":"Gap","recordName":"m"}},{"operationType":"create","record":{"recordType":"Gap","recordName":"a","parent":{"recordName":"m"},"fields":{"at":{"value":5,"type":"TIMESTAMP"},"n":{"value":1}}}}]}"#,
                200, #"{"records":[{},{"parent":{"recordName":"m"}}]}"#),
            post(
                "private/records/modify",
                #"{"operations":[{"operationType":"forceUpdate","record":{"recordType":"Gap","recordName":"a","parent":{},"fields":{"at":{"type":"TIMESTAMP"},"never":{"type":"STRING_LIST"},"n":{}}}}]}"#,
                200,
                #"{"records":[{"fields":{"at":"<absent>","never":"<absent>","n":"<absent>"},"parent":"<absent>"}]}"#),
            post(
                "private/records/query",
                #"{"query":{"recordType":"Gap","filterBy":[{"comparator":"EQUALS","fieldName":"at","fieldValue":{"type":"TIMESTAMP"}}]}}"#,
                400, #"{"serverErrorCode":"BAD_REQUEST","reason":"<has The filter on 'at' has no value>"}"#),
            post(
                "private/records/query",
                #"{"query":{"recordType":"Gap","filterBy":[{"comparator":"IN","fieldName":"at","fieldValue":{"type":"TIMESTAMP_LIST"}}]}}"#,
                400, #"{"serverErrorCode":"BAD_REQUEST","reason":"<has The filter on 'at' has no value>"}"#)),
        Scenario(
            "encrypted values come back as live answers have them, and are taken in either spelling",
            post(
                "private/records/modify",
                #"{"operations":[{"operationType":"create","record":{"recordType":"Safe","recordName":"a","fields":{"key":{"value":"AQI=","type":"ENCRYPTED_BYTES"},"word":{"value":"x","type":"STRING","isEncrypted":true}}}},{"operationType":"create","record":{"recordType":"Safe","recordName":"b","fields":{"key":{"value":"AQI=","type":"BYTES","isEncrypted":true},"word":{"value":"x","type":"ENCRYPTED_STRING"}}}}]}"#,
                200,
                #"{"records":[{"fields":{"key":{"value":"AQI=","type":"ENCRYPTED_BYTES","isEncrypted":"<absent>"},"word":{"value":"x","type":"STRING","isEncrypted":true}}},{"fields":{"key":{"value":"AQI=","type":"ENCRYPTED_BYTES"},"word":{"value":"x","type":"STRING","isEncrypted":true}}}]}"#
            ),
            post(
                "private/records/lookup", #"{"records":[{"recordName":"b"}],"numbersAsStrings":true}"#, 200,
                #"{"records":[{"fields":{"key":{"value":"AQI=","type":"ENCRYPTED_BYTES","isEncrypted":"<absent>"}}}]}"#)
        ),
        Scenario(
            "encrypted values are marked, with their type, and not in the public database",
            merge(
                #"DEFINE SCHEMA RECORD TYPE Note (secret ENCRYPTED STRING, "___recordID" REFERENCE QUERYABLE);"#),
            post(
                "private/records/modify",
                #"{"operations":[{"operationType":"create","record":{"recordType":"Note","recordName":"a","fields":{"secret":{"value":"x","isEncrypted":true}}}},{"operationType":"create","record":{"recordType":"Note","recordName":"b","fields":{"secret":{"value":"x","type":"STRING"}}}},{"operationType":"create","record":{"recordType":"Note","recordName":"c","fields":{"secret":{"value":"x","type":"STRING","isEncrypted":true}}}}]}"#,
                200,
                #"{"records":[{"serverErrorCode":"BAD_REQUEST","reason":"invalid attempt to set value type ENCRYPTED_BYTES for field 'secret' for type 'Note', defined to be: ENCRYPTED_STRING"},{"serverErrorCode":"BAD_REQUEST","reason":"invalid attempt to set value type ENCRYPTED_BYTES for field 'secret' for type 'Note', defined to be: ENCRYPTED_STRING"},{"fields":{"secret":{"value":"x","type":"STRING","isEncrypted":true}}}]}"#
            ),
            post(
                "public/records/modify",
                #"{"operations":[{"operationType":"create","record":{"recordType":"Note","recordName":"a","fields":{"secret":{"value":"x","type":"STRING","isEncrypted":true}}}}]}"#,
                200,
                #"{"records":[{"recordName":"a","serverErrorCode":"BAD_REQUEST","reason":"encrypted fields are not supported in the public database"}]}"#
            ),
            post(
                "private/records/query",
                #"{"query":{"recordType":"Note","filterBy":[{"comparator":"EQUALS","fieldName":"secret","fieldValue":{"value":"x","type":"STRING"}}]}}"#,
                400,
                #"{"serverErrorCode":"BAD_REQUEST","reason":"Field 'secret' has a value type of ENCRYPTED_STRING and cannot be queried using filter type EQUALS"}"#
            )),
        Scenario(
            "the first clients' names of number types are taken, in saves and filters",
            post(
                "private/records/modify",
                #"{"operations":[{"operationType":"create","record":{"recordType":"Old","recordName":"a","fields":{"count":{"value":3,"type":"NUMBER_INT64"},"ratio":{"value":2,"type":"NUMBER_DOUBLE"},"counts":{"value":[3],"type":"NUMBER_INT64_LIST"}}}}]}"#,
                200,
                #"{"records":[{"fields":{"count":{"value":3,"type":"INT64"},"ratio":{"value":2.0,"type":"DOUBLE"},"counts":{"value":[3],"type":"INT64_LIST"}}}]}"#
            ),
            post(
                "private/records/query",
                #"{"query":{"recordType":"Old","filterBy":[{"comparator":"EQUALS","fieldName":"count","fieldValue":{"value":3,"type":"NUMBER_INT64"}},{"comparator":"IN","fieldName":"ratio","fieldValue":{"value":[2],"type":"NUMBER_DOUBLE_LIST"}}]}}"#,
                200, #"{"records":[{"recordName":"a"}]}"#)),
        Scenario(
            "an operation that is to share where this is impossible fails by itself, and takes an atomic batch with it",
            post(
                "private/zones/modify",
                #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}"#),
            post(
                "private/records/modify",
                #"{"operations":[{"operationType":"create","record":{"recordType":"N","recordName":"a","createShortGUID":true}},{"operationType":"create","record":{"recordType":"N","recordName":"b","createShortGUID":null}},{"operationType":"create","record":{"recordType":"cloudkit.share","recordName":"s"}},{"operationType":"create","record":{"recordType":"N","recordName":"c","createShortGUID":false}}]}"#,
                200,
                #"{"records":[{"recordName":"a","shortGUID":"<any>"},{"recordName":"b","recordChangeTag":"<any>","shortGUID":"<absent>"},{"recordName":"s","serverErrorCode":"BAD_REQUEST","reason":"<has custom zones>"},{"recordName":"c","shortGUID":"<absent>"}]}"#
            ),
            post(
                "private/records/modify",
                #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"create","record":{"recordType":"cloudkit.share","recordName":"s"}},{"operationType":"create","record":{"recordType":"N","recordName":"b"}}]}"#,
                200,
                #"{"records":[{"recordName":"s","serverErrorCode":"BAD_REQUEST","reason":"<has forRecord>"},{"recordName":"b","serverErrorCode":"ATOMIC_ERROR"}]}"#
            ),
            post(
                "private/records/lookup", #"{"zoneID":{"zoneName":"Z"},"records":[{"recordName":"b"}]}"#, 200,
                #"{"records":[{"serverErrorCode":"NOT_FOUND"}]}"#)),
        Scenario(
            "new types and fields have letters, digits and _ in their names; dots are the system's, and the schema language's",
            post(
                "private/records/modify",
                #"{"operations":[{"operationType":"create","record":{"recordType":"my.Type","recordName":"a"}},{"operationType":"create","record":{"recordType":"N","recordName":"b","fields":{"a.b":1}}},{"operationType":"create","record":{"recordType":"N","recordName":"c","fields":{"cloudkit.title":"x"}}}]}"#,
                200,
                #"{"records":[{"serverErrorCode":"BAD_REQUEST","reason":"Invalid recordType 'my.Type': it must start with a letter and contain only letters, digits and _"},{"serverErrorCode":"BAD_REQUEST","reason":"<has Invalid field name 'a.b'>"},{"fields":{"cloudkit.title":{"value":"x"}}}]}"#
            ),
            merge(
                #"DEFINE SCHEMA RECORD TYPE "my.Type" ("a.b" STRING QUERYABLE, "___recordID" REFERENCE QUERYABLE);"#),
            post(
                "private/records/modify",
                #"{"operations":[{"operationType":"create","record":{"recordType":"my.Type","recordName":"a","fields":{"a.b":"x","plain":1}}}]}"#,
                200, #"{"records":[{"fields":{"a.b":{"value":"x"},"plain":{"value":1}}}]}"#),
            post(
                "private/records/query", #"{"query":{"recordType":"my.Type"}}"#, 200,
                #"{"records":[{"recordName":"a"}]}"#)),
        Scenario(
            "what fails and what is deleted have answers of their own",
            post(
                "private/records/modify",
                #"{"operations":[{"operationType":"create","record":{"recordType":"N","recordName":"a","fields":{"x":1,"y":2}}}]}"#,
                200, #"{"records":[{"recordName":"a"}]}"#),
            post(
                "private/records/modify",
                #"{"operations":[{"operationType":"create","record":{"recordType":"N","recordName":"a"}}]}"#, 200,
                #"{"records":[{"recordName":"a","serverErrorCode":"CONFLICT","reason":"record to insert already exists"}]}"#
            ),
            post(
                "private/records/modify",
                #"{"operations":[{"operationType":"update","record":{"recordName":"a","recordChangeTag":"0","fields":{"x":11}}}]}"#,
                200,
                #"{"records":[{"recordName":"a","serverErrorCode":"CONFLICT","reason":"client oplock error updating record","fields":"<absent>"}]}"#
            ),
            post(
                "private/records/modify",
                #"{"operations":[{"operationType":"update","record":{"recordName":"no","recordChangeTag":"1","recordType":"N"}}]}"#,
                200,
                #"{"records":[{"recordName":"no","serverErrorCode":"NOT_FOUND","reason":"recordChangeTag specified, but record not found"}]}"#
            ),
            post(
                "private/records/modify",
                #"{"operations":[{"operationType":"forceDelete","record":{"recordName":"a"}},{"operationType":"forceDelete","record":{"recordName":"never"}}]}"#,
                200,
                #"{"records":[{"recordName":"a","deleted":true,"recordType":"<absent>","reason":"<absent>"},{"recordName":"never","deleted":true}]}"#
            ),
            post(
                "private/records/lookup", #"{"records":[{"recordName":"a"}]}"#, 200,
                #"{"records":[{"recordName":"a","reason":"Record not found","serverErrorCode":"NOT_FOUND"}]}"#)),
        Scenario(
            "an item's own words on fields and numbers come before those for all",
            post(
                "private/records/modify",
                #"{"desiredKeys":[],"numbersAsStrings":true,"operations":[{"operationType":"create","record":{"recordType":"N","recordName":"a","fields":{"x":1,"y":2}}},{"operationType":"create","desiredKeys":["y"],"numbersAsStrings":false,"record":{"recordType":"N","recordName":"b","fields":{"x":1,"y":2}}}]}"#,
                200,
                #"{"records":[{"fields":{"x":"<absent>","y":"<absent>"},"recordType":"N"},{"fields":{"x":"<absent>","y":{"value":2}}}]}"#
            ),
            post(
                "private/records/lookup",
                #"{"desiredKeys":["x"],"records":[{"recordName":"a"},{"recordName":"b","desiredKeys":[]},{"recordName":"a","desiredKeys":["y"]}]}"#,
                200,
                #"{"records":[{"fields":{"x":{"value":1},"y":"<absent>"}},{"fields":{"x":"<absent>","y":"<absent>"}},{"fields":{"x":"<absent>","y":{"value":2}}}]}"#
            )),
        Scenario(
            "parents and zones of records",
            post(
                "private/zones/modify",
                #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}"#),
            post(
                "private/records/modify?getCurrentSyncToken=true&ckjsVersion=2.6.1&clientId=x",
                #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"create","record":{"recordType":"N","recordName":"child","parent":{"recordName":"mother"}}},{"operationType":"create","record":{"recordType":"N","recordName":"mother"}}]}"#,
                200,
                #"{"records":[{"parent":{"recordName":"mother"},"zoneID":{"zoneName":"Z","ownerRecordName":"$developer","zoneType":"REGULAR_CUSTOM_ZONE"}},{"parent":"<absent>"}],"syncToken":"<any>"}"#,
                keeping: ["token": "syncToken"]),
            post(
                "private/records/changes", #"{"zoneID":{"zoneName":"Z"},"syncToken":"$token"}"#, 200,
                #"{"records":[],"moreComing":false,"syncToken":"$token"}"#),
            post(
                "private/records/modify",
                #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"create","record":{"recordType":"N","recordName":"orphan","parent":{"recordName":"nobody"}}}]}"#,
                200,
                #"{"records":[{"recordName":"orphan","serverErrorCode":"VALIDATING_REFERENCE_ERROR","reason":"The parent 'nobody' does not exist in the zone; save it first, or in the same request"}]}"#
            ),
            post(
                "private/records/modify",
                #"{"operations":[{"operationType":"forceUpdate","record":{"recordType":"N","recordName":"child","parent":null,"zoneID":{"zoneName":"Z"}}}]}"#,
                200, #"{"records":[{"parent":"<absent>","zoneID":{"zoneName":"Z"}}]}"#),
            post(
                "private/records/modify",
                #"{"zoneID":{"zoneName":"no"},"operations":[{"operationType":"create","record":{"recordType":"N","recordName":"a"}}]}"#,
                200,
                #"{"records":[{"recordName":"a","serverErrorCode":"ZONE_NOT_FOUND","reason":"<any>"}]}"#)),
        Scenario(
            "production makes no schema",
            post(
                "/database/1/iCloud.com.example.Test/production/private/records/modify",
                #"{"operations":[{"operationType":"create","record":{"recordType":"N","recordName":"a"}}]}"#, 200,
                #"{"records":[{"recordName":"a","reason":"Cannot create new type N in production schema","serverErrorCode":"NOT_FOUND"}]}"#
            )),
        Scenario(
            "a declared type wins over a guess, and a contradiction is named",
            post(
                "private/records/modify",
                #"{"operations":[{"operationType":"create","record":{"recordType":"N","recordName":"a","fields":{"x":1}}}]}"#
            ),
            post(
                "private/records/modify",
                #"{"operations":[{"operationType":"create","record":{"recordType":"N","recordName":"b","fields":{"x":"one"}}}]}"#,
                200,
                #"{"records":[{"serverErrorCode":"BAD_REQUEST","reason":"invalid attempt to set value type STRING for field 'x' for type 'N', defined to be: INT64"}]}"#
            )
        ),
    ]
}
