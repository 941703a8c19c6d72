import RecordStore
import Records

// records/query.

extension Scenario {
    private static let fruit = post(
        "private/records/modify",
        #"""
        {"operations":[
        {"operationType":"create","record":{"recordType":"Fruit","recordName":"apple","fields":{"name":"Green apple","price":3,"tags":["green","round"],"place":{"latitude":47.6,"longitude":-122.3}}}},
        {"operationType":"create","record":{"recordType":"Fruit","recordName":"banana","fields":{"name":"Yellow banana","price":2,"tags":["yellow"],"place":{"latitude":48.0,"longitude":-122.3},"kin":{"value":{"recordName":"apple"},"type":"REFERENCE"}}}},
        {"operationType":"create","record":{"recordType":"Fruit","recordName":"cherry","fields":{"name":"Red cherry","price":9,"tags":["red","round"],"place":{"latitude":10.0,"longitude":10.0}}}}]}
        """#)

    private static func ask(_ query: String, _ status: Int = 200, _ expected: String, keeping: [String: String] = [:])
        -> Step
    {
        post("private/records/query", query, status, expected, keeping: keeping)
    }

    private static func filtered(_ filter: String, finds names: String...) -> Step {
        let records = names.map { #"{"recordName":"\#($0)"}"# }.joined(separator: ",")
        return ask(
            #"{"query":{"recordType":"Fruit","filterBy":[\#(filter)],"sortBy":[{"fieldName":"name"}]}}"#, 200,
            #"{"records":[\#(records)],"continuationMarker":"<absent>"}"#)
    }

    static let query: [Scenario] = [
        Scenario(
            "a new type can't be asked for everything until recordName is queryable",
            fruit,
            ask(
                #"{"query":{"recordType":"Fruit"}}"#, 400,
                #"{"uuid":"<any>","serverErrorCode":"BAD_REQUEST","reason":"Field 'recordName' is not marked queryable","records":"<absent>"}"#
            ),
            index("___recordID", of: "Fruit", .queryable),
            ask(
                #"{"query":{"recordType":"Fruit"}}"#, 200,
                #"{"records":[{"recordName":"apple"},{"recordName":"banana"},{"recordName":"cherry"}]}"#)),
        Scenario(
            "pages follow each other by markers",
            fruit, index("___recordID", of: "Fruit", .queryable),
            ask(
                #"{"query":{"recordType":"Fruit","sortBy":[{"fieldName":"price","ascending":false}]},"resultsLimit":2,"desiredKeys":["price"]}"#,
                200,
                #"{"records":[{"recordName":"cherry","fields":{"price":{"value":9},"name":"<absent>"}},{"recordName":"apple"}],"continuationMarker":"<any>"}"#,
                keeping: ["marker": "continuationMarker"]),
            ask(
                #"{"query":{"recordType":"Fruit","sortBy":[{"fieldName":"price","ascending":false}]},"resultsLimit":2,"continuationMarker":"$marker","desiredKeys":[]}"#,
                200,
                #"{"records":[{"recordName":"banana","fields":{"price":"<absent>"}}],"continuationMarker":"<absent>"}"#),
            ask(
                #"{"query":{"recordType":"Fruit"},"continuationMarker":"$marker"}"#, 400,
                #"{"serverErrorCode":"BAD_REQUEST"}"#),
            ask(
                #"{"query":{"recordType":"Fruit"},"continuationMarker":"garbage"}"#, 400,
                #"{"serverErrorCode":"BAD_REQUEST"}"#)),
        Scenario(
            "filters in every form",
            fruit, index("___recordID", of: "Fruit", [.queryable, .sortable]),
            filtered(#"{"comparator":"EQUALS","fieldName":"price","fieldValue":{"value":3}}"#, finds: "apple"),
            filtered(#"{"comparator":"LESS_THAN","fieldName":"price","fieldValue":3}"#, finds: "banana"),
            filtered(
                #"{"comparator":"IN","fieldName":"price","fieldValue":{"value":[2,3],"type":"INT64_LIST"}}"#,
                finds: "apple", "banana"),
            filtered(
                #"{"comparator":"LIST_CONTAINS_ALL","fieldName":"tags","fieldValue":{"value":["round","red"],"type":"STRING_LIST"}}"#,
                finds: "cherry"),
            filtered(
                #"{"comparator":"CONTAINS_ALL_TOKENS","fieldName":"name","fieldValue":{"value":"apple GREEN"}}"#,
                finds: "apple"),
            filtered(
                #"{"comparator":"NEAR","fieldName":"place","fieldValue":{"value":{"latitude":47.6,"longitude":-122.3},"type":"LOCATION"},"distance":100000}"#,
                finds: "apple", "banana"),
            filtered(
                #"{"comparator":"NEAR","fieldName":"place","fieldValue":{"value":{"latitude":47.6,"longitude":-122.3}},"distance":1000.5}"#,
                finds: "apple"),
            filtered(
                #"{"comparator":"EQUALS","fieldName":"kin","fieldValue":{"value":{"recordName":"apple","action":"NONE"}}}"#,
                finds: "banana"),
            filtered(
                #"{"comparator":"EQUALS","fieldName":"___recordID","fieldValue":{"value":{"recordName":"cherry"},"type":"REFERENCE"}}"#,
                finds: "cherry"),
            filtered(
                #"{"comparator":"EQUALS","systemFieldName":"recordName","fieldValue":{"value":"cherry","type":"STRING"}}"#,
                finds: "cherry"),
            filtered(
                #"{"comparator":"GREATER_THAN","fieldName":"price","fieldValue":{"value":2}},{"comparator":"LIST_CONTAINS","fieldName":"tags","fieldValue":{"value":"green"}}"#,
                finds: "apple")),
        Scenario(
            "orders: by two fields, by a system field, by distance",
            fruit, index("___createTime", of: "Fruit", [.queryable, .sortable]),
            ask(
                #"{"query":{"recordType":"Fruit","filterBy":[{"comparator":"GREATER_THAN","fieldName":"price","fieldValue":{"value":0}}],"sortBy":[{"fieldName":"place","relativeLocation":{"latitude":48.0,"longitude":-122.3}}]}}"#,
                200, #"{"records":[{"recordName":"banana"},{"recordName":"apple"},{"recordName":"cherry"}]}"#),
            ask(
                #"{"query":{"recordType":"Fruit","filterBy":[{"comparator":"GREATER_THAN","fieldName":"price","fieldValue":{"value":0}}],"sortBy":[{"systemFieldName":"createdTimestamp"},{"fieldName":"name","ascending":false}]}}"#,
                200, #"{"records":[{"recordName":"banana"},{"recordName":"cherry"},{"recordName":"apple"}]}"#)),
        Scenario(
            "the whole database or one zone, and the token with it",
            post(
                "private/zones/modify",
                #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Z"}}}]}"#),
            fruit, index("___recordID", of: "Fruit", .queryable),
            post(
                "private/records/modify",
                #"{"zoneID":{"zoneName":"Z"},"operations":[{"operationType":"create","record":{"recordType":"Fruit","recordName":"plum"}}]}"#
            ),
            ask(
                #"{"query":{"recordType":"Fruit"},"zoneWide":true}"#, 200,
                #"{"records":[{"recordName":"apple"},{"recordName":"banana"},{"recordName":"cherry"},{"recordName":"plum"}]}"#
            ),
            ask(
                #"{"query":{"recordType":"Fruit"},"zoneWide":true,"zoneID":{"zoneName":"Z"}}"#, 200,
                #"{"records":[{"recordName":"plum"}],"syncToken":"<absent>"}"#),
            post(
                "private/records/query?remapEnums=True&getCurrentSyncToken=True",
                #"{"query":{"recordType":"Fruit"},"zoneID":{"zoneName":"Z"}}"#, 200,
                #"{"records":[{"recordName":"plum"}],"syncToken":"<any>"}"#),
            post(
                "private/records/query?getCurrentSyncToken=true", #"{"query":{"recordType":"Fruit"}}"#, 200,
                #"{"syncToken":"<absent>"}"#),
            ask(
                #"{"query":{"recordType":"Fruit"},"zoneID":{"zoneName":"no"}}"#, 404,
                #"{"serverErrorCode":"ZONE_NOT_FOUND"}"#)),
        Scenario(
            "never more than 200 records, whatever is asked",
            .act { engine in
                let database = try await engine.database(ScenarioRunner.address, as: ScenarioRunner.developer)
                for start in [0, 150] {
                    _ = try await database.modify(
                        .init(
                            (start..<start + 150).map {
                                RecordOperation(
                                    .create, recordName: "r\($0)", recordType: "Many",
                                    fields: ["n": FieldInput(.int64(Int64($0)))])
                            }))
                }
            },
            ask(
                #"{"query":{"recordType":"Many","filterBy":[{"comparator":"GREATER_THAN_OR_EQUALS","fieldName":"n","fieldValue":{"value":0}}],"sortBy":[{"fieldName":"n"}]},"resultsLimit":100000}"#,
                200,
                #"{"records":[\#((0..<200).map { #"{"recordName":"r\#($0)"}"# }.joined(separator: ","))],"continuationMarker":"<any>"}"#
            )),
        Scenario(
            "queries that can't be read are refused with the reason",
            fruit,
            ask(
                #"{"query":{"recordType":"Nothing"}}"#, 404,
                #"{"serverErrorCode":"NOT_FOUND","reason":"Did not find record type: Nothing"}"#),
            ask(#"{"query":{"recordType":"Users"}}"#, 400, #"{"reason":"Can't query system types"}"#),
            ask(
                #"{"query":{}}"#, 400, #"{"reason":"<has Expected 'query.recordType' to be a string, found nothing>"}"#),
            ask(
                #"{}"#, 400,
                #"{"reason":"<has BadRequestException: Unexpected input>","serverErrorCode":"BAD_REQUEST"}"#),
            ask(
                #"{"query":{"recordType":"Fruit","filterBy":[{"comparator":"IN","fieldName":"name","fieldValue":{"value":["a"]}}]}}"#,
                400,
                #"{"serverErrorCode":"BAD_REQUEST","reason":"<has BadRequestException: Unexpected input>"}"#),
            ask(
                #"{"query":{"recordType":"Fruit","filterBy":[{"comparator":"LIKE","fieldName":"name","fieldValue":{"value":"a"}}]}}"#,
                400,
                #"{"reason":"<has Unknown comparator 'LIKE' in 'query.filterBy[0]'>"}"#),
            ask(
                #"{"query":{"recordType":"Fruit","filterBy":[{"comparator":"EQUALS","fieldValue":{"value":"a"}}]}}"#,
                400, #"{"reason":"<has query.filterBy[0].fieldName>"}"#),
            ask(
                #"{"query":{"recordType":"Fruit","filterBy":[{"comparator":"EQUALS","fieldName":"name"}]}}"#, 400,
                #"{"reason":"<has query.filterBy[0].fieldValue>"}"#),
            ask(
                #"{"query":{"recordType":"Fruit","sortBy":[{"systemFieldName":"colour"}]}}"#, 400,
                #"{"reason":"<has Unknown system field 'colour'>"}"#),
            ask(
                #"{"query":{"recordType":"Fruit"},"resultsLimit":0}"#, 400,
                #"{"reason":"<has 'resultsLimit' to be a whole number above 0, found 0>"}"#),
            ask(#"{"query":{"recordType":"Fruit"},"resultsLimit":-1}"#, 400, #"{"reason":"<has resultsLimit>"}"#),
            ask(#"{"query":{"recordType":"Fruit"},"resultsLimit":2.5}"#, 400, #"{"reason":"<has resultsLimit>"}"#),
            ask(#"{"query":{"recordType":"Fruit"},"resultsLimit":"2"}"#, 400, #"{"reason":"<has resultsLimit>"}"#),
            ask(
                #"{"query":{"recordType":"Fruit"},"desiredKeys":"price"}"#, 400,
                #"{"reason":"<has Expected 'desiredKeys' to be an array, found a string>"}"#)),
    ]
}
