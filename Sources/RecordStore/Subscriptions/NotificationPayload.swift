public import Records

/// A notification in iCloud's format, as a web courier URL returns it.
public struct NotificationPayload: Sendable, Hashable {
    /// The size limit of Apple's push service in bytes.
    public static let sizeLimit = 4096
    /// Lengths in bytes to which texts are cut, one after the other, until the notification fits.
    private static let textLimits = [1000, 400, 150, 50, 0]

    /// A JSON object with the members `aps`, for the system, and `ck`, for the app.
    public let bytes: [UInt8]
    /// True if parts were left out because of the size limit.
    public let isPruned: Bool

    /// - Parameters:
    ///   - id: identifies the change. All its notifications have the same id.
    ///   - badge: the number on the app's icon, if the subscription sets it.
    /// - Returns: `nil` if the subscription has no ``Records/Subscription/notificationInfo``.
    public init?(
        of owned: OwnedSubscription, for change: CommittedChange, in container: ContainerID, id: String, badge: Int
    ) {
        guard let info = owned.subscription.notificationInfo else { return nil }
        var draft = NotificationDraft(
            owned: owned, change: change, container: container, id: id, info: info,
            badge: info.shouldBadge ? badge : nil)
        draft.readFields()
        var bytes = draft.bytes
        isPruned = bytes.count > Self.sizeLimit
        if isPruned {
            // Fields are removed first, because the app can fetch the record.
            draft.additionalFields = []
            draft.isPruned = true
            bytes = draft.bytes
            for limit in Self.textLimits where bytes.count > Self.sizeLimit {
                draft.cutTexts(to: limit)
                bytes = draft.bytes
            }
        }
        self.bytes = bytes
    }
}

/// The parts of a notification.
private struct NotificationDraft {
    let owned: OwnedSubscription
    let change: CommittedChange
    let container: ContainerID
    let id: String
    var info: NotificationInfo
    let badge: Int?
    var additionalFields: [Field] = []
    /// Values of the fields named as arguments of localized texts.
    private var arguments: [Name: String] = [:]
    var isPruned = false

    init(
        owned: OwnedSubscription, change: CommittedChange, container: ContainerID, id: String,
        info: NotificationInfo, badge: Int?
    ) {
        (self.owned, self.change, self.container, self.id, self.info, self.badge) = (
            owned, change, container, id, info, badge
        )
    }

    /// Reads the fields for the notification. Damaged fields are left out.
    mutating func readFields() {
        let named = Set(
            info.additionalFields + info.alertLocalizationArgs + info.titleLocalizationArgs
                + info.subtitleLocalizationArgs)
        guard !named.isEmpty, let decoded = try? change.record?.record.fields.decoded() else { return }
        // A field may have become encrypted, a list or a file since the user subscribed.
        let fields = decoded.filter { named.contains($0.name) && !$0.isEncrypted && $0.value.isSmall }
        additionalFields = info.additionalFields.compactMap { name in fields.first { $0.name == name } }
        for field in fields { arguments[field.name] = field.value.asArgument }
    }

    mutating func cutTexts(to limit: Int) {
        for path in [
            \.alertBody, \.title, \.subtitle, \.soundName, \.category, \.alertLaunchImage, \.alertActionLocalizationKey,
            \.alertLocalizationKey, \.titleLocalizationKey, \.subtitleLocalizationKey,
        ] as [WritableKeyPath<NotificationInfo, String?>] {
            info[keyPath: path] = info[keyPath: path].flatMap { limit == 0 ? nil : $0.cut(to: limit) }
        }
        arguments = arguments.mapValues { $0.cut(to: limit) }
    }

    var bytes: [UInt8] {
        var writer = JSONWriter(capacity: 512)
        writer.object { writer in
            writer.name("aps")
            writer.object { writeForSystem(&$0) }
            writer.name("ck")
            writer.object { writeForApp(&$0) }
        }
        return writer.bytes
    }

    private func writeForSystem(_ writer: inout JSONWriter) {
        var alert = JSONWriter()
        alert.object { writer in
            for (name, text) in [
                ("title", info.title), ("title-loc-key", info.titleLocalizationKey), ("subtitle", info.subtitle),
                ("subtitle-loc-key", info.subtitleLocalizationKey),
                ("body", info.alertBody), ("loc-key", info.alertLocalizationKey),
                ("action-loc-key", info.alertActionLocalizationKey),
                ("launch-image", info.alertLaunchImage),
            ] as [(Name, String?)] {
                if let text { writer.member(name, text) }
            }
            for (name, fields) in [
                ("title-loc-args", info.titleLocalizationArgs), ("subtitle-loc-args", info.subtitleLocalizationArgs),
                ("loc-args", info.alertLocalizationArgs),
            ] as [(Name, [Name])] where !fields.isEmpty {
                writer.name(name)
                writer.array { writer in for field in fields { writer.value(arguments[field] ?? "") } }
            }
        }
        if alert.bytes.count > 2 {
            writer.name("alert")
            writer.text(alert.bytes)
        }
        if let sound = info.soundName { writer.member("sound", sound) }
        if let badge { writer.member("badge", Int64(badge)) }
        if let category = info.category { writer.member("category", category) }
        if info.shouldSendContentAvailable { writer.member("content-available", 1) }
        if info.shouldSendMutableContent { writer.member("mutable-content", 1) }
    }

    private func writeForApp(_ writer: inout JSONWriter) {
        writer.member("ce", 2)
        writer.member("cid", container.description)
        writer.member("ckuserid", owned.user)
        writer.member("nid", id)
        // The position of this member is Skylight's guess.
        if isPruned { writer.member("p", 1) }
        switch owned.subscription.subject {
        case .query: writer.name("qry")
        case .zone: writer.name("fet")
        case .database: writer.name("met")
        }
        writer.object { writer in
            writer.member("dbs", owned.scope.number)
            writer.member("sid", owned.subscription.subscriptionID)
            writer.member("zid", change.zoneID.zoneName)
            if let owner = change.zoneID.ownerRecordName { writer.member("zoid", owner) }
            guard case .query = owned.subscription.subject, let record = change.record else { return }
            writer.member("rid", record.record.recordID.recordName)
            writer.member("fo", record.event.number)
            if additionalFields.isEmpty { return }
            writer.name("af")
            writer.object { writer in
                for field in additionalFields {
                    writer.name(field.name)
                    writer.value(field.value)
                }
            }
        }
    }
}

extension Subscription.Event {
    /// The value's number in notifications.
    fileprivate var number: Int64 {
        switch self {
        case .create: 1
        case .update: 2
        case .delete: 3
        }
    }
}

extension DatabaseScope {
    /// The value's number in notifications.
    fileprivate var number: Int64 {
        switch self {
        case .public: 0
        case .private: 1
        case .shared: 2
        }
    }
}

extension FieldValue {
    /// True for values whose type notifications can contain.
    fileprivate var isSmall: Bool {
        switch self {
        case .string, .int64, .double, .timestamp, .location, .reference: true
        case .bytes, .asset, .list: false
        }
    }

    /// The value as an argument of a localized text.
    fileprivate var asArgument: String {
        switch self {
        case .string(let string): string
        case .int64(let integer): String(integer)
        case .double(let double): double.description
        case .timestamp(let timestamp): String(timestamp.milliseconds)
        case .reference(let reference): reference.recordName.string
        default: ""
        }
    }
}

extension String {
    /// The beginning of the text, in whole Unicode characters.
    fileprivate func cut(to limit: Int) -> String {
        if utf8.count <= limit { return self }
        var length = limit
        while length > 0, utf8[utf8.index(utf8.startIndex, offsetBy: length)] & 0xC0 == 0x80 { length -= 1 }
        return String(decoding: utf8.prefix(length), as: UTF8.self)
    }
}
