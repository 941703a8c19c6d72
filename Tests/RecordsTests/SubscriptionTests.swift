import Records
import Testing

/// Subscriptions in requests, answers, stores and exports.
@Suite struct SubscriptionTests {
    private static func subscription(_ json: String) throws -> Subscription {
        try Subscription(RequestObject(Array(json.utf8)))
    }

    private static func text(_ subscription: Subscription) -> String {
        var writer = JSONWriter()
        writer.value(subscription)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private static let info = [
        #"{"alertBody":"b","alertLocalizationKey":"k","alertActionLocalizationKey":"a","alertLaunchImage":"i","title":"t","titleLocalizationKey":"tk","#,
        #""subtitle":"s","subtitleLocalizationKey":"sk","soundName":"n","category":"c","collapseIDKey":"ci","alertLocalizationArgs":["x"],"#,
        #""titleLocalizationArgs":["y"],"subtitleLocalizationArgs":["z"],"additionalFields":["f","e"],"shouldBadge":true,"#,
        #""shouldSendContentAvailable":true,"shouldSendMutableContent":true}"#,
    ].joined()

    /// All members of all kinds, as they are written.
    @Test(arguments: [
        #"{"subscriptionID":"q","subscriptionType":"query","query":{"recordType":"T","filterBy":[{"comparator":"EQUALS","fieldName":"f","#
            + #""fieldValue":{"value":"x","type":"STRING"}}],"sortBy":[{"fieldName":"g","ascending":false}]},"firesOn":["create","delete"],"#
            + #""firesOnce":true,"zoneWide":true,"notificationInfo":\#(info)}"#,
        #"{"subscriptionID":"q","subscriptionType":"query","query":{"recordType":"T","filterBy":[],"sortBy":[]},"firesOn":["update"],"firesOnce":false,"#
            + #""zoneWide":false,"zoneID":{"zoneName":"Z","ownerRecordName":"_o","zoneType":"REGULAR_CUSTOM_ZONE"}}"#,
        #"{"subscriptionID":"z","subscriptionType":"zone","recordType":"T","zoneID":{"zoneName":"Z","zoneType":"REGULAR_CUSTOM_ZONE"}}"#,
        #"{"subscriptionID":"d","subscriptionType":"database","notificationInfo":{"shouldSendContentAvailable":true}}"#,
    ])
    func everythingIsReadAndWritten(json: String) throws {
        #expect(Self.text(try Self.subscription(json)) == json)
    }

    @Test func whatIsLeftOutHasADefault() throws {
        let query = try Self.subscription(
            #"{"subscriptionID":"q","subscriptionType":"query","query":{"recordType":"T"},"notificationInfo":{"desiredKeys":["a"],"alertBody":null}}"#
        )
        #expect(query.subject == .query(Subscription.RecordSubject(Query(recordType: "T"), firesOn: [])))
        #expect(query.notificationInfo?.additionalFields == ["a"] && query.zoneID == nil)
        let object = try RequestObject(Array(#"{"subscriptionType":"zone","zoneID":{}}"#.utf8))
        #expect(try Subscription(object, defaultID: "new") == Subscription("new", to: .zone(.default, recordType: nil)))
        #expect(throws: RecordError.self) { try Subscription(object) }
    }

    @Test(arguments: [
        ("{}", "Expected 'subscriptionType' to be a string, found nothing"),
        (
            #"{"subscriptionType":"record","subscriptionID":"s"}"#,
            "Unknown subscriptionType 'record' in ''; known are query, zone, database"
        ),
        (#"{"subscriptionType":"query","subscriptionID":"s"}"#, "Expected 'query' to be an object, found nothing"),
        (
            #"{"subscriptionType":"query","subscriptionID":"s","query":{"recordType":"T"},"firesOn":["save"]}"#,
            "Unknown event 'save' in 'firesOn'; known are create, update, delete"
        ),
        (#"{"subscriptionType":"zone","subscriptionID":"s"}"#, "Expected 'zoneID' to be an object, found nothing"),
        (
            #"{"subscriptionType":"database","subscriptionID":"s","notificationInfo":{"shouldBadge":1}}"#,
            "Expected 'notificationInfo.shouldBadge' to be true or false, found a number"
        ),
        (
            #"{"subscriptionType":"database","subscriptionID":"s","notificationInfo":{"additionalFields":[1]}}"#,
            "Expected 'notificationInfo.additionalFields[0]' to be a string, found a number"
        ),
    ])
    func mistakesAreNamed(json: String, detail: String) {
        #expect(throws: RecordError.unexpectedInput(detail)) { try Self.subscription(json) }
    }
}
