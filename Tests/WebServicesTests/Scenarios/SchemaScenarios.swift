import RecordStore
import Records

// Skylight's own services for schemas and queries: docs/services.md.

extension Scenario {
    private static let container = "/skylight/1/\(ScenarioRunner.container)"
    private static let root = "\(container)/development/private"
    private static let production = "\(container)/production/public"

    /// Two notes, one of them with a title.
    private static let notes = post(
        "private/records/modify",
        #"{"operations":[{"operationType":"create","record":{"recordType":"Note","recordName":"a","fields":{"title":"x","year":1}}},{"operationType":"create","record":{"recordType":"Note","recordName":"b","fields":{"year":2}}}]}"#
    )

    private static func body(_ text: String, _ more: String = "") -> String {
        #"{"text":\#(String(decoding: JSONWriter.bytes(of: .string(text)), as: UTF8.self))\#(more)}"#
    }

    private static let file = """
        DEFINE SCHEMA
            CREATE ROLE Editors;
            RECORD TYPE Note (
                "___recordID" REFERENCE QUERYABLE,
                title         STRING QUERYABLE,
                year          INT64 QUERYABLE SORTABLE,
                count         NUMBER PREFERRED AS INT64,
                GRANT WRITE TO "_creator", GRANT READ TO "_world"
            );
        """

    static let schema: [Scenario] = [
        Scenario(
            "a schema is edited in every way",
            notes,
            post(
                "\(root)/schema/edit",
                #"{"edits":[{"addRole":"Editors"},{"setGrants":[{"role":"Editors","permissions":["READ","WRITE"]}],"recordType":"Note"}]}"#,
                200,
                #"{"types":[{"name":"Note","grants":[{"role":"Editors","permissions":["READ","WRITE"]}]},{"name":"Users"}],"roles":["Editors"],"builds":[]}"#
            ),
            post(
                "\(root)/schema/edit", #"{"edits":[{"removeRole":"Editors"}]}"#, 400,
                #"{"serverErrorCode":"BAD_REQUEST","reason":"<has Editors>"}"#),
            post(
                "\(root)/schema/edit",
                #"{"edits":[{"setGrants":[{"role":"_world","permissions":["READ"]}],"recordType":"Note"},{"removeRole":"Editors"}]}"#,
                200, #"{"roles":[]}"#),
            post(
                "\(root)/schema/edit",
                #"{"edits":[{"addCompositeIndex":{"filter":"title","sort":"modifiedTimestamp"},"recordType":"Note"}]}"#,
                200,
                #"{"types":[{"name":"Note","compositeIndexes":[{"filter":"title","sort":"___modTime"}]},{"name":"Users","compositeIndexes":"<absent>"}],"builds":[]}"#
            ),
            post(
                "\(root)/schema/edit",
                #"{"edits":[{"removeCompositeIndex":{"filter":"title","sort":"___modTime"},"recordType":"Note"}]}"#,
                200, #"{"types":[{"name":"Note","compositeIndexes":"<absent>"},{"name":"Users"}]}"#),
            post(
                "\(root)/schema/edit",
                #"{"edits":[{"addType":{"name":"Number","fields":{"n":{"type":"INT64","number":"NUMBER PREFERRED AS INT64"},"recordName":{"type":"STRING"}}}},{"setIndexes":["SORTABLE"],"field":"recordName","recordType":"Number"},{"setIndexes":["QUERYABLE"],"field":"modifiedTimestamp","recordType":"Number"}],"wait":false}"#,
                200,
                #"{"types":[{"name":"Note"},{"name":"Number","fields":{"n":{"type":"INT64","number":"NUMBER PREFERRED AS INT64"},"recordName":{"indexes":["SORTABLE"]}},"systemIndexes":{"___modTime":["QUERYABLE"],"___recordID":"<absent>"}},{"name":"Users"}]}"#
            ),
            post(
                "\(root)/schema/edit",
                #"{"edits":[{"removeField":"title","recordType":"Note"},{"removeType":"Number"}]}"#, 200,
                #"{"types":[{"name":"Note","fields":{"title":"<absent>","year":{"type":"INT64"}}},{"name":"Users"}]}"#),
            post(
                "private/records/lookup", #"{"records":[{"recordName":"a"}]}"#, 200,
                #"{"records":[{"fields":{"title":"<absent>","year":{"value":1}}}]}"#),
            post("\(root)/schema/edit", #"{"edits":[{"removeType":"Note"}]}"#, 200, #"{"types":[{"name":"Users"}]}"#),
            post(
                "private/records/lookup", #"{"records":[{"recordName":"a"}]}"#, 200,
                #"{"records":[{"serverErrorCode":"NOT_FOUND"}]}"#)),
        Scenario(
            "an edit that is none is refused with its place",
            notes,
            post(
                "\(root)/schema/edit", #"{"edits":[{}]}"#, 400,
                #"{"reason":"<has 'edits[0]' to have one of addType, removeType>"}"#),
            post(
                "\(root)/schema/edit", #"{"edits":[{"addRole":"a"},{"addRole":"a","removeRole":"b"}]}"#, 400,
                #"{"reason":"<has 'edits[1]' to have one of>"}"#),
            post(
                "\(root)/schema/edit", #"{"edits":[{"removeField":"title"}]}"#, 400,
                #"{"reason":"<has 'edits[0].recordType'>"}"#),
            post(
                "\(root)/schema/edit", #"{"edits":[{"removeField":{},"recordType":"Note"}]}"#, 400,
                #"{"reason":"<has 'edits[0].removeField' to be a string, found an object>"}"#),
            post(
                "\(root)/schema/edit", #"{"edits":[{"setIndexes":"QUERYABLE","field":"title","recordType":"Note"}]}"#,
                400, #"{"reason":"<has 'edits[0].setIndexes' to be an array>"}"#),
            post(
                "\(root)/schema/edit", #"{"edits":[{"setIndexes":[],"recordType":"Note"}]}"#, 400,
                #"{"reason":"<has 'edits[0].field'>"}"#),
            post(
                "\(root)/schema/edit",
                #"{"edits":[{"setGrants":[{"role":"_world","permissions":["RULE"]}],"recordType":"Note"}]}"#, 400,
                #"{"reason":"<has Unknown permission 'RULE'>"}"#),
            post(
                "\(root)/schema/edit", #"{"edits":[{"addCompositeIndex":{"filter":"title"},"recordType":"Note"}]}"#,
                400, #"{"reason":"<has 'filter' and 'sort'>"}"#),
            post(
                "\(root)/schema/edit",
                #"{"edits":[{"addType":{"name":"M","fields":{"n":{"type":"STRING","number":"NUMBER"}}}}]}"#, 400,
                #"{"reason":"<has can't be STRING and NUMBER>"}"#),
            post(
                "\(root)/schema/edit",
                #"{"edits":[{"addType":{"name":"M","fields":{"n":{"type":"DOUBLE","number":"REAL"}}}}]}"#, 400,
                #"{"reason":"<has 'number' of the field 'n'>"}"#),
            post(
                "\(root)/schema/edit", #"{"edits":[],"wait":1}"#, 400, #"{"reason":"<has 'wait' to be true or false>"}"#
            ),
            post(
                "\(root)/schema/edit", #"{"edits":[],"reason":"DEPLOY"}"#, 400,
                #"{"reason":"<has known are EDIT, IMPORT, DATA>"}"#),
            post(
                "\(root)/schema/edit", #"{"edits":[{"addRole":"kept"},{"removeType":"None"}]}"#, 404,
                #"{"reason":"<has None>"}"#),
            get("\(root)/schema", 200, #"{"roles":[]}"#)),
        Scenario(
            "a text is validated, whatever is there",
            post(
                "\(root)/schema/validate", body(file), 200,
                #"{"valid":true,"errors":[],"types":1,"fields":3,"roles":1}"#),
            post(
                "\(root)/schema/validate", body("DEFINE SCHEMA\n  RECORD TYPE T (\n    a STRNG\n  );\n"), 200,
                #"{"valid":false,"errors":[{"line":3,"column":7,"reason":"<any>","found":"<has STRNG>","excerpt":"    a STRNG\n      ^"}],"types":"<absent>"}"#
            ),
            post("\(root)/schema/validate", body(""), 200, #"{"valid":false}"#),
            post("\(root)/schema/validate", "{}", 400, #"{"reason":"<has 'text'>"}"#),
            post("\(root)/schema/validate", #"{"text":7}"#, 400),
            get("\(root)/schema/validate", 405),
            get("/skylight/1/containers", 200, #"{"containers":[]}"#)),
        Scenario(
            "a schema is imported after a look at what it does",
            notes,
            post(
                "\(root)/schema/import", body(file, #","dryRun":true"#), 200,
                #"{"dryRun":true,"losses":[],"types":"<absent>","builds":"<absent>","changes":[{"change":"ADD_ROLE","role":"Editors","line":"Role 'Editors' added"},{"change":"SET_INDEXES","field":"___recordID","from":[],"to":["QUERYABLE"]},{"change":"ADD_FIELD","recordType":"Note","field":"count","type":"INT64","number":"NUMBER PREFERRED AS INT64"},{"change":"SET_INDEXES","field":"title","from":["QUERYABLE","SEARCHABLE","SORTABLE"],"to":["QUERYABLE"]},{"change":"SET_GRANTS","recordType":"Note"}]}"#
            ),
            get(
                "\(root)/schema", 200,
                #"{"types":[{"name":"Note","fields":{"count":"<absent>"}},{"name":"Users"}],"roles":[]}"#),
            post(
                "\(root)/schema/import", body(file), 200,
                #"{"dryRun":false,"losses":[],"types":[{"name":"Note","fields":{"count":{"type":"INT64"}},"systemIndexes":{"___recordID":["QUERYABLE"]}},{"name":"Users"}],"roles":["Editors"],"builds":[]}"#
            ),
            post("\(root)/schema/diff", body(file), 200, #"{"different":false,"changes":[]}"#),
            post(
                "private/records/query", #"{"query":{"recordType":"Note"}}"#, 200,
                #"{"records":[{"recordName":"a"},{"recordName":"b"}]}"#),
            post(
                "\(root)/schema/import", body("DEFINE SCHEMA RECORD TYPE Other ( a STRING );"), 400,
                #"{"serverErrorCode":"BAD_REQUEST","reason":"<has its 2 records are deleted. Send 'allowLoss'>"}"#),
            post(
                "\(root)/schema/import", body("DEFINE SCHEMA RECORD TYPE Note ( year INT64 );", #","dryRun":true"#),
                200,
                #"{"losses":[{"change":{"change":"REMOVE_FIELD","field":"count"},"records":0},{"change":{"change":"REMOVE_FIELD","field":"title"},"records":1,"line":"<has its values in 1 record are deleted>"}]}"#
            ),
            post(
                "\(root)/schema/import", body("DEFINE SCHEMA RECORD TYPE Other ( a STRING );", #","merge":true"#), 200,
                #"{"changes":[{"change":"ADD_TYPE","recordType":"Other"}],"losses":[],"types":[{"name":"Note"},{"name":"Other"},{"name":"Users"}]}"#
            ),
            post(
                "\(root)/schema/import",
                body("DEFINE SCHEMA RECORD TYPE Note ( title INT64 );", #","merge":true,"allowLoss":true"#), 400,
                #"{"reason":"<has 'title'>"}"#),
            post(
                "\(root)/schema/import", body("DEFINE SCHEMA RECORD TYPE Other ( a STRING );", #","allowLoss":true"#),
                200,
                #"{"losses":[{"change":{"change":"REMOVE_TYPE","recordType":"Note"},"records":2}],"types":[{"name":"Other"},{"name":"Users"}],"roles":[]}"#
            ),
            post(
                "\(root)/schema/import", body("DEFINE SCHEMA RECORD TYPE Other ( a STRNG );"), 400,
                #"{"reason":"<has line 1, column>"}"#),
            post("\(production)/schema/import", body(file), 403, #"{"serverErrorCode":"ACCESS_DENIED"}"#),
            post("\(root)/schema/import", body(file, #","merge":"yes""#), 400, #"{"reason":"<has 'merge'>"}"#),
            get("\(root)/schema/import", 405)),
        Scenario(
            "schemas are compared",
            notes,
            post(
                "\(root)/schema/diff", #"{"environment":"production"}"#, 200,
                #"{"different":true,"changes":[{"change":"REMOVE_TYPE","recordType":"Note","type":{"name":"Note"},"line":"<has Note: type deleted>"}]}"#
            ),
            get("/skylight/1/containers", 200, #"{"environments":{"\#(ScenarioRunner.container)":["development"]}}"#),
            get("\(root)/schema/diff?environment=production", 200, #"{"different":true}"#),
            post("\(root)/schema/diff", #"{"environment":"development"}"#, 200, #"{"different":false,"changes":[]}"#),
            post(
                "\(root)/schema/diff",
                #"{"schema":{"types":[{"name":"Note","fields":{"title":{"type":"INT64"},"year":{"type":"INT64","indexes":["QUERYABLE","SORTABLE"]}}}],"roles":["R"]}}"#,
                200,
                #"{"different":true,"changes":[{"change":"ADD_ROLE","role":"R"},{"change":"CHANGE_FIELD","field":"title","from":{"type":"STRING"},"to":{"type":"INT64","indexes":[]}}]}"#
            ),
            post("\(root)/schema/diff", "{}", 400, #"{"reason":"<has one of 'text', 'schema' and 'environment'>"}"#),
            post("\(root)/schema/diff", #"{"environment":"production","text":""}"#, 400, #"{"reason":"<has one of>"}"#),
            post(
                "\(root)/schema/diff", #"{"environment":"staging"}"#, 400,
                #"{"reason":"<has expected development or production>"}"#),
            post("\(root)/schema/diff", #"{"schema":{"types":{}}}"#, 400)),
        Scenario(
            "development is deployed, and production only grows",
            notes,
            post(
                "\(production)/schema/deploy", #"{"dryRun":true}"#, 200,
                #"{"dryRun":true,"canRun":true,"refusal":"<absent>","droppedIndexes":[],"changes":[{"change":"ADD_TYPE","recordType":"Note"}],"types":"<absent>"}"#
            ),
            get("\(production)/schema", 200, #"{"types":[{"name":"Users"}]}"#),
            post(
                "\(production)/schema/deploy", "", 200,
                #"{"dryRun":false,"canRun":true,"changes":[{"change":"ADD_TYPE"}],"types":[{"name":"Note","fields":{"title":{"type":"STRING"}}},{"name":"Users"}],"builds":[]}"#
            ),
            post("\(root)/schema/diff", #"{"environment":"production"}"#, 200, #"{"different":false}"#),
            post(
                "\(root)/schema/edit",
                #"{"edits":[{"removeField":"title","recordType":"Note"},{"setIndexes":["SORTABLE"],"field":"year","recordType":"Note"}]}"#
            ),
            post(
                "\(production)/schema/deploy", #"{"dryRun":true}"#, 200,
                #"{"canRun":false,"refusal":"<has field 'title'>","droppedIndexes":[{"change":"SET_INDEXES","field":"year","from":["QUERYABLE","SORTABLE"],"to":["SORTABLE"]}],"changes":[{"change":"REMOVE_FIELD","field":"title"},{"change":"SET_INDEXES"}]}"#
            ),
            post(
                "\(production)/schema/deploy", "{}", 400,
                #"{"serverErrorCode":"BAD_REQUEST","reason":"<has field 'title'>"}"#),
            get(
                "\(production)/schema", 200,
                #"{"types":[{"name":"Note","fields":{"title":{"type":"STRING"},"year":{"indexes":["QUERYABLE","SORTABLE"]}}},{"name":"Users"}]}"#
            ),
            // An import into development must not remove anything that production has.
            post(
                "\(root)/schema/import", body("DEFINE SCHEMA RECORD TYPE Other ( a STRING );", #","allowLoss":true"#),
                400, #"{"reason":"<has production>"}"#),
            post("\(root)/schema/deploy", "{}", 400, #"{"reason":"<has to production>"}"#),
            get("\(production)/schema/deploy", 405),
            get(
                "\(production)/schema/history", 200,
                #"{"entries":[{"number":"<any>","timestamp":"<any>","userRecordName":"$developer","reason":"DEPLOY","changes":["<has Note: type added>"]}],"before":"<absent>"}"#
            )),
        Scenario(
            "a reset asks for the container's name",
            notes,
            post("\(root)/schema/reset", "{}", 400, #"{"reason":"<has \#(ScenarioRunner.container)>"}"#),
            post("\(root)/schema/reset", #"{"confirm":"yes"}"#, 400),
            post(
                "\(root)/schema/reset", #"{"dryRun":true}"#, 200,
                #"{"dryRun":true,"changes":[{"change":"REMOVE_TYPE","recordType":"Note"}],"records":{"Note":2}}"#),
            post(
                "private/records/lookup", #"{"records":[{"recordName":"a"}]}"#, 200,
                #"{"records":[{"recordName":"a"}]}"#),
            post(
                "\(production)/schema/reset", #"{"confirm":"\#(ScenarioRunner.container)"}"#, 403,
                #"{"serverErrorCode":"ACCESS_DENIED"}"#),
            post(
                "\(root)/schema/reset", #"{"confirm":"\#(ScenarioRunner.container)"}"#, 200,
                #"{"dryRun":false,"records":"<absent>","changes":[{"change":"REMOVE_TYPE"}],"types":[{"name":"Users"}],"roles":[]}"#
            ),
            post(
                "private/records/lookup", #"{"records":[{"recordName":"a"}]}"#, 200,
                #"{"records":[{"serverErrorCode":"NOT_FOUND"}]}"#),
            get("\(root)/schema/history", 200, #"{"entries":[{"reason":"RESET","changes":"<any>"},{"reason":"SAVE"}]}"#)
        ),
        Scenario(
            "the history is read in pages",
            notes,
            post("\(root)/schema/edit", #"{"edits":[{"addRole":"R"}]}"#),
            post("\(root)/schema/edit", #"{"edits":[{"removeRole":"R"}],"reason":"IMPORT"}"#),
            post(
                "\(root)/schema/history", #"{"resultsLimit":2}"#, 200,
                #"{"entries":[{"reason":"IMPORT","changes":["Role 'R' deleted"]},{"reason":"EDIT","changes":["Role 'R' added"]}],"before":"<any>"}"#,
                keeping: ["before": "before"]),
            get(
                "\(root)/schema/history?resultsLimit=2&before=$before", 200,
                #"{"entries":[{"reason":"SAVE","userRecordName":"$developer"}],"before":"<absent>"}"#),
            get("\(root)/schema/history?before=soon", 400, #"{"reason":"<has 'before'>"}"#),
            get("\(root)/schema/builds", 200, #"{"builds":[]}"#)),
        Scenario(
            "what a type holds is measured",
            notes,
            get(
                "\(root)/schema/usage?recordType=Note", 200,
                #"{"recordType":"Note","records":2,"fields":[{"field":"title","records":1,"distinctValues":1,"largestBytes":3,"largestRecord":{"recordName":"a","zoneID":{"zoneName":"_defaultZone"}}},{"field":"year","records":2,"distinctValues":2},{"field":"<any>"},{"field":"<any>"},{"field":"<any>"},{"field":"<any>"},{"field":"<any>"},{"field":"<any>"}]}"#
            ),
            get("\(root)/schema/usage?recordType=None", 404, #"{"serverErrorCode":"NOT_FOUND"}"#),
            get("\(root)/schema/usage", 400, #"{"reason":"<has 'recordType'>"}"#)),
        Scenario(
            "records of a type are counted, and those with values",
            notes,
            get("\(root)/schema/counts?recordType=Note", 200, #"{"records":2,"values":{}}"#),
            get(
                "\(root)/schema/counts?recordType=Note&fields=title,year,none", 200,
                #"{"records":2,"values":{"title":1,"year":2,"none":0}}"#),
            post(
                "\(root)/schema/counts", #"{"recordType":"Note","fields":["title"]}"#, 200,
                #"{"records":2,"values":{"title":1,"year":"<absent>"}}"#),
            post(
                "\(root)/schema/counts", #"{"recordType":"Note","fields":"title"}"#, 400,
                #"{"reason":"<has 'fields'>"}"#),
            get("\(root)/schema/counts?recordType=None", 404, #"{"serverErrorCode":"NOT_FOUND"}"#)),
        Scenario(
            "edits that add and drop leave the rest as it is",
            notes,
            post(
                "\(root)/schema/edit",
                #"{"edits":[{"addIndexes":["QUERYABLE"],"field":"year","recordType":"Note"},{"dropIndexes":["SORTABLE","QUERYABLE"],"field":"title","recordType":"Note"},{"addIndexes":["SORTABLE"],"field":"modifiedTimestamp","recordType":"Note"},{"addRole":"R"},{"addGrants":[{"role":"R","permissions":["WRITE"]}],"recordType":"Note"}]}"#,
                200,
                #"{"types":[{"name":"Note","fields":{"title":{"indexes":["SEARCHABLE"]},"year":{"indexes":["QUERYABLE","SORTABLE"]}},"systemIndexes":{"___modTime":["SORTABLE"]}},{"name":"Users"}]}"#
            ),
            post(
                "\(root)/schema/edit",
                #"{"edits":[{"dropIndexes":["SEARCHABLE"],"field":"year","recordType":"Note"}]}"#, 400,
                #"{"reason":"<has can't be SEARCHABLE>"}"#),
            post(
                "\(root)/schema/edit", #"{"edits":[{"dropIndexes":["SORTABLE"],"field":"none","recordType":"Note"}]}"#,
                400, #"{"reason":"<has 'none'>"}"#),
            post(
                "\(root)/schema/edit",
                #"{"edits":[{"dropIndexes":["SORTABLE"],"field":"modifiedTimestamp","recordType":"Note"},{"dropIndexes":["SORTABLE"],"field":"modifiedTimestamp","recordType":"Note"}]}"#,
                200, #"{"types":[{"systemIndexes":{"___modTime":"<absent>"}},{"name":"Users"}]}"#)),
        Scenario(
            "another spelling is a change of its own",
            notes,
            post(
                "\(root)/schema/import",
                body(
                    "DEFINE SCHEMA RECORD TYPE Note ( title STRING QUERYABLE SEARCHABLE SORTABLE, year NUMBER PREFERRED AS INT64 QUERYABLE SORTABLE );",
                    #","dryRun":true"#), 200,
                #"{"changes":[],"respellings":["Note: field 'year' INT64 is written NUMBER PREFERRED AS INT64"],"losses":[]}"#
            ),
            post(
                "\(root)/schema/diff",
                body(
                    "DEFINE SCHEMA RECORD TYPE Note ( title STRING QUERYABLE SEARCHABLE SORTABLE, year NUMBER PREFERRED AS INT64 QUERYABLE SORTABLE );"
                ), 200, #"{"different":true,"changes":[],"respellings":["<has is written>"]}"#)),
        Scenario(
            "a query is explained instead of answered",
            notes,
            post(
                "\(root)/schema/edit",
                #"{"edits":[{"setIndexes":[],"field":"title","recordType":"Note"},{"setIndexes":["QUERYABLE"],"field":"year","recordType":"Note"}]}"#
            ),
            post(
                "\(root)/records/explain",
                #"{"query":{"recordType":"Note","filterBy":[{"comparator":"EQUALS","fieldName":"title","fieldValue":{"value":"x"}},{"comparator":"EQUALS","systemFieldName":"recordName","fieldValue":{"value":"a"}}],"sortBy":[{"fieldName":"year"}]}}"#,
                200,
                #"{"problems":[{"problem":"MISSING_INDEX","field":"title","indexes":["QUERYABLE"],"serverErrorCode":"BAD_REQUEST","reason":"Field 'title' is not marked queryable"},{"problem":"MISSING_INDEX","field":"___recordID","reason":"Field 'recordName' is not marked queryable"},{"problem":"MISSING_INDEX","field":"year","indexes":["SORTABLE"],"reason":"Field 'year' is not marked sortable"}],"entriesRead":0,"recordsRead":0,"recordsReturned":0,"remedy":[{"addIndexes":["QUERYABLE"],"field":"title","recordType":"Note"},{"addIndexes":["QUERYABLE"],"field":"___recordID","recordType":"Note"},{"addIndexes":["SORTABLE"],"field":"year","recordType":"Note"}]}"#
            ),
            // For a type without any index, the query itself only reports that.
            post("\(root)/schema/edit", #"{"edits":[{"addType":{"name":"Bare","fields":{"year":{"type":"INT64"}}}}]}"#),
            post(
                "\(root)/records/explain",
                #"{"query":{"recordType":"Bare","filterBy":[{"comparator":"EQUALS","fieldName":"recordChangeTag","fieldValue":{"value":"1"}}],"sortBy":[{"fieldName":"year"}]}}"#,
                200,
                #"{"problems":[{"problem":"NO_INDEX","recordType":"Bare"}],"remedy":[{"addIndexes":["QUERYABLE"],"field":"___etag","recordType":"Bare"},{"addIndexes":["SORTABLE"],"field":"year","recordType":"Bare"}]}"#
            ),
            post(
                "\(root)/records/explain",
                #"{"query":{"recordType":"Note","filterBy":[{"comparator":"EQUALS","fieldName":"year","fieldValue":{"value":2}}]}}"#,
                200,
                #"{"problems":[],"recordsReturned":1,"moreComing":false,"summary":"<any>","milliseconds":"<any>","records":"<absent>","remedy":"<absent>"}"#
            ),
            post(
                "\(root)/records/explain", #"{"query":{"recordType":"None"}}"#, 200,
                #"{"problems":[{"problem":"UNKNOWN_TYPE","recordType":"None","serverErrorCode":"NOT_FOUND"}],"remedy":"<absent>"}"#
            ),
            post(
                "\(root)/records/explain",
                #"{"query":{"recordType":"Note","filterBy":[{"comparator":"EQUALS","fieldName":"year","fieldValue":{"value":2}}]},"zoneID":{"zoneName":"no"}}"#,
                404, #"{"serverErrorCode":"ZONE_NOT_FOUND"}"#),
            post("\(root)/records/explain", "{}", 400, #"{"reason":"<has 'query'>"}"#),
            get("\(root)/records/explain", 405)),
        Scenario(
            "queries are counted",
            notes,
            get("\(root)/query/statistics", 200, #"{"since":"<any>","uses":[],"refusals":[]}"#),
            post(
                "private/records/query",
                #"{"query":{"recordType":"Note","filterBy":[{"comparator":"EQUALS","fieldName":"year","fieldValue":{"value":2}}]}}"#
            ),
            post("public/records/query", #"{"query":{"recordType":"Note"}}"#, 400, as: "anna"),
            post(
                "\(root)/query/statistics", "", 200,
                #"{"uses":[{"recordType":"Note","index":{"field":"year","indexes":["QUERYABLE"]},"count":1,"last":"<any>"}],"refusals":[{"query":{"recordType":"Note","filterBy":[],"sortBy":[]},"problems":[{"problem":"MISSING_INDEX","field":"___recordID"}],"count":1,"last":"<any>","userRecordName":"$anna"}]}"#
            )),
    ]
}
