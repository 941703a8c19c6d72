extension Scenario {
    private static let root = "/skylight/1/iCloud.com.example.Test/development/private/keyvalues"

    private static func set(_ key: String, _ value: String) -> String {
        #"{"operationType":"set","key":"\#(key)","value":\#(value)}"#
    }
    private static func operations(_ operations: String...) -> String {
        #"{"operations":[\#(operations.joined(separator: ","))]}"#
    }
    private static let number = #"{"type":"INT64","value":1}"#

    static let keyValues: [Scenario] = [
        Scenario(
            "a key-value store is read, changed, and read on from a token",
            get("\(root)/changes", 200, #"{"changes":[],"keys":0,"bytes":0,"syncToken":"<any>"}"#),
            post(
                "\(root)/modify",
                operations(
                    set(
                        "a",
                        #"{"type":"DICTIONARY","value":{"when":{"type":"TIMESTAMP","value":5},"list":{"type":"ARRAY","value":[{"type":"BOOL","value":true}]}}}"#
                    ),
                    set("b", #"{"type":"BYTES","value":"AAEC"}"#), set("c", number)),
                200, #"{"keys":3,"bytes":59}"#),
            post(
                "\(root)/changes", "{}", 200,
                #"{"changes":[{"key":"a","size":48,"modified":"<any>","position":"<any>","value":{"type":"DICTIONARY","value":{"when":{"type":"TIMESTAMP","value":5},"list":{"type":"ARRAY","value":[{"type":"BOOL","value":true}]}}}},{"key":"b","size":3,"value":{"type":"BYTES","value":"AAEC"},"removed":"<absent>"},{"key":"c","size":8,"value":{"type":"INT64","value":1}}],"keys":3}"#,
                keeping: ["token": "syncToken"]),
            post(
                "\(root)/modify",
                operations(#"{"operationType":"remove","key":"a"}"#, set("b", #"{"type":"DOUBLE","value":1}"#)), 200,
                #"{"keys":2,"bytes":16}"#),
            get(
                "\(root)/changes?syncToken=$token&wait=1", 200,
                #"{"changes":[{"key":"a","removed":true,"value":"<absent>","size":"<absent>"},{"key":"b","value":{"type":"DOUBLE","value":1.0}}],"keys":2,"bytes":16}"#
            ),
            // Another user has another store.
            get("\(root)/changes", 200, #"{"changes":[],"keys":0}"#, as: "anna"),
            post(
                "\(root)/changes", #"{"syncToken":"$token"}"#, 400, #"{"reason":"Unknown sync continuation type"}"#,
                as: "anna")),
        Scenario(
            "a request to a key-value store that makes no sense changes nothing",
            post("\(root)/modify", "{}", 400, #"{"reason":"<has 'operations' to be an array>"}"#),
            post(
                "\(root)/modify", operations(set("a", number), #"{"operationType":"add","key":"b"}"#), 400,
                #"{"reason":"<has known are set, remove>"}"#),
            post(
                "\(root)/modify", operations(#"{"operationType":"set","key":"a"}"#), 400,
                #"{"reason":"<has operations[0].value>"}"#),
            post(
                "\(root)/modify", operations(set("a", number), set("b", #"{"type":"FLOAT","value":1}"#)), 400,
                #"{"reason":"<has known are STRING, BYTES, BOOL>"}"#),
            post(
                "\(root)/modify", operations(set("a", #"{"type":"INT64","value":1.5}"#)), 400,
                #"{"reason":"<has operations[0].value.value>"}"#),
            post(
                "\(root)/modify", operations(set("a", #"{"type":"BYTES","value":"?"}"#)), 400,
                #"{"reason":"<has to be base64>"}"#),
            post(
                "\(root)/modify", operations(set("a", number), set(String(repeating: "k", count: 65), number)), 400,
                #"{"reason":"<has 65 bytes of UTF-8, and the limit is 64>"}"#),
            post("\(root)/changes", #"{"syncToken":"none"}"#, 400, #"{"serverErrorCode":"BAD_REQUEST"}"#),
            post("\(root)/changes", #"{"wait":-1}"#, 400, #"{"reason":"<has 'wait'>"}"#),
            call("GET", "\(root)/modify", "", 405, #"{"reason":"<has 'keyvalues/modify' accepts POST>"}"#),
            get(
                "/skylight/1/iCloud.com.example.Test/development/public/keyvalues/changes", 400,
                #"{"reason":"<has each user has one in the private database>"}"#),
            get("\(root)/changes", 200, #"{"changes":[],"keys":0}"#)),
        Scenario(
            "a full key-value store refuses the whole request",
            post("\(root)/modify", operations(set("half", text(600_000))), 200, #"{"keys":1,"bytes":600000}"#),
            post(
                "\(root)/modify", operations(set("flag", number), set("rest", text(600_000))), 413,
                #"{"serverErrorCode":"QUOTA_EXCEEDED","reason":"<has would have 1200008 bytes, and the limit is 1048576; nothing was saved>"}"#
            ),
            get("\(root)/changes", 200, #"{"keys":1,"bytes":600000}"#)),
    ]

    private static func text(_ length: Int) -> String {
        #"{"type":"STRING","value":"\#(String(repeating: "x", count: length))"}"#
    }
}
