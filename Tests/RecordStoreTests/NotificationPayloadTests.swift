import RecordStore
import Records
import Testing

/// Notifications of all kinds, in the form that iCloud sends.
@Suite struct NotificationPayloadTests {
    private static let zone = ZoneID(zoneName: "Z", ownerRecordName: "_a")

    private static func change(_ fields: [Field], kind: RecordJournalEntry.Kind = .modified, in zoneID: ZoneID = zone)
        throws -> CommittedChange
    {
        let signature = Signature(timestamp: Timestamp(milliseconds: 1), userRecordName: "_u", deviceID: "")
        let record = StoredRecord(
            recordID: RecordID(recordName: "r"), recordType: "T", recordChangeTag: "1", created: signature,
            modified: signature, fields: FieldsText(fields))
        let kinds: [(RecordJournalEntry.Kind, Int64)] = [(kind, 5), (.modified, 1)]
        let states = kinds.map { kind, position in
            RecordJournalEntry(
                kind: kind, position: position, recordChangeTag: "1", recordType: "T", signature: signature,
                requestID: nil,
                fields: kind == .deleted ? .empty : record.fields, parent: nil)
        }
        return try #require(
            CommittedChange.all(
                of: record, states, after: 1, in: CommittedChange(position: 5, zoneID: zoneID, owner: "_a", guests: [])
            ).first)
    }

    private static func payload(
        _ subject: Subscription.Subject, in scope: DatabaseScope = .private, _ info: NotificationInfo?,
        _ change: CommittedChange
    ) throws -> NotificationPayload? {
        let owned = OwnedSubscription(
            user: "_a", scope: scope, position: 0, isHeldToRoles: false,
            subscription: Subscription("s", to: subject, notificationInfo: info))
        return NotificationPayload(
            of: owned, for: change, in: try #require(ContainerID("iCloud.x")), id: "N", badge: 3)
    }

    private static let query = Subscription.Subject.query(
        Subscription.RecordSubject(Query(recordType: "T"), firesOn: [.create]))

    private static func text(_ payload: NotificationPayload?) throws -> String {
        String(decoding: try #require(payload).bytes, as: UTF8.self)
    }

    @Test func eachKindHasItsForm() throws {
        var silent = NotificationInfo()
        silent.shouldSendContentAvailable = true
        let start = #"{"aps":{"content-available":1},"ck":{"ce":2,"cid":"iCloud.x","ckuserid":"_a","nid":"N","#
        let plain = try Self.change([])
        #expect(
            try Self.text(Self.payload(.zone(Self.zone, recordType: nil), silent, plain)) == start
                + #""fet":{"dbs":1,"sid":"s","zid":"Z","zoid":"_a"}}}"#)
        #expect(
            try Self.text(Self.payload(.database(recordType: nil), in: .shared, silent, plain)) == start
                + #""met":{"dbs":2,"sid":"s","zid":"Z","zoid":"_a"}}}"#)
        let deletion = try Self.change(
            [], kind: .deleted, in: ZoneID(zoneName: "_defaultZone", ownerRecordName: "_defaultOwner"))
        #expect(
            try Self.text(Self.payload(Self.query, in: .public, silent, deletion))
                == start + #""qry":{"dbs":0,"sid":"s","zid":"_defaultZone","zoid":"_defaultOwner","rid":"r","fo":3}}}"#)
        #expect(try Self.payload(Self.query, nil, plain) == nil)
    }

    @Test func textsFieldsAndBadgeAreSent() throws {
        var info = NotificationInfo()
        (info.title, info.alertLocalizationKey, info.alertLocalizationArgs) = ("T", "K", ["name", "gone", "n"])
        (info.soundName, info.category, info.shouldBadge, info.shouldSendMutableContent) = ("default", "c", true, true)
        info.additionalFields = ["n", "list", "secret"]
        let fields = [
            Field(name: "name", value: .string("é\"")), Field(name: "n", value: .int64(7)),
            Field(name: "list", value: .list([.int64(1)], of: .int64)),
            Field(name: "secret", value: .string("x"), isEncrypted: true),
        ]
        let text = try Self.text(Self.payload(Self.query, info, Self.change(fields, kind: .created)))
        #expect(
            text.hasPrefix(
                #"{"aps":{"alert":{"title":"T","loc-key":"K","loc-args":["é\"","","7"]},"sound":"default","badge":3,"category":"c","mutable-content":1},"#
            ))
        #expect(text.hasSuffix(#""rid":"r","fo":1,"af":{"n":7}}}}"#))
        #expect(!text.contains("secret") && !text.contains("list"))
    }

    /// Fields go first, then texts become shorter. The app's part stays.
    @Test(arguments: [100, 3000, 5000, 100_000])
    func longOnesAreTrimmed(length: Int) throws {
        var info = NotificationInfo()
        (info.alertBody, info.soundName, info.additionalFields) = (
            String(repeating: "é\u{301}💬", count: length / 8), "default", ["f"]
        )
        let change = try Self.change([Field(name: "f", value: .string(String(repeating: "f", count: 1500)))])
        let payload = try #require(try Self.payload(Self.query, info, change))
        #expect(payload.bytes.count <= NotificationPayload.sizeLimit)
        #expect(payload.isPruned == (length > 2000))
        guard case .object(let object) = try JSONReader.value(of: payload.bytes), case .object(let ck)? = object["ck"],
            case .object(let qry)? = ck["qry"],
            case .object(let aps)? = object["aps"], case .object(let alert)? = aps["alert"],
            case .string(let body)? = alert["body"]
        else { throw RecordError(.internalError, "not a notification") }
        #expect(ck["p"] == (payload.isPruned ? 1 : nil))
        #expect(qry["sid"] == "s" && (qry["af"] == nil) == payload.isPruned)
        // No character of Unicode is cut in two.
        #expect(
            info.alertBody?.utf8.starts(with: body.utf8) == true && !body.unicodeScalars.contains("\u{FFFD}")
                && aps["sound"] == "default")
        #expect((body == info.alertBody) == (length <= 3000))
    }
}
