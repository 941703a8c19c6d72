public import JSON

/// A user's request to be told of changes (Apple's reference page "Types and Dictionaries").
public struct Subscription: Sendable, Hashable {
    /// The kinds of changes of a record.
    public enum Event: String, Sendable, Hashable, CaseIterable {
        case create
        case update
        case delete
    }

    /// The changes that a subscription is about.
    public enum Subject: Sendable, Hashable {
        /// Changes of records that match a query: as they became or, if they were deleted, as they were.
        case query(RecordSubject)
        /// Changes in one custom zone, of records of a type or (`nil`) of all.
        case zone(ZoneID, recordType: Name?)
        /// Changes in all custom zones of the database, of records of a type or (`nil`) of all.
        case database(recordType: Name?)
    }

    /// The subject of a query subscription.
    public struct RecordSubject: Sendable, Hashable {
        /// The type and the condition. Sorts count for nothing.
        public var query: Query
        /// The changes that are told, at least one.
        public var firesOn: Set<Event>
        /// True to end the subscription with its first notification.
        public var firesOnce: Bool
        /// `nil` for all zones of the database.
        public var zoneID: ZoneID?

        /// A query's changes, by default in all zones, again and again.
        public init(_ query: Query, firesOn: Set<Event>, firesOnce: Bool = false, zoneID: ZoneID? = nil) {
            self.query = query
            self.firesOn = firesOn
            self.firesOnce = firesOnce
            self.zoneID = zoneID
        }
    }

    /// Maximum length of an id in UTF-8 bytes.
    public static let idLimit = 255

    /// Unique among the subscriptions of a user in a database.
    public var subscriptionID: Name
    /// The changes to be told of. A public database has query subscriptions only, a shared one only those to the database.
    public var subject: Subject
    /// The notification's content. Without it, nothing is sent.
    public var notificationInfo: NotificationInfo?

    /// A subscription; without `notificationInfo` one that sends nothing.
    public init(_ subscriptionID: Name, to subject: Subject, notificationInfo: NotificationInfo? = nil) {
        self.subscriptionID = subscriptionID
        self.subject = subject
        self.notificationInfo = notificationInfo
    }

    /// The zone that the subscription is limited to, and with which it ends; `nil` for all zones of the database.
    public var zoneID: ZoneID? {
        switch subject {
        case .query(let subject): subject.zoneID
        case .zone(let zoneID, _): zoneID
        case .database: nil
        }
    }

    /// The subscription for another zone. One for all zones stays as it is.
    public func inZone(_ zoneID: ZoneID) -> Subscription {
        var subscription = self
        switch subject {
        case .query(var subject) where subject.zoneID != nil:
            subject.zoneID = zoneID
            subscription.subject = .query(subject)
        case .zone(_, let recordType): subscription.subject = .zone(zoneID, recordType: recordType)
        case .query, .database: break
        }
        return subscription
    }
}

/// The way a notification appears. Without alert, sound and badge it is silent.
public struct NotificationInfo: Sendable, Hashable {
    /// The text of the alert.
    public var alertBody: String?
    /// A key of the app's localized texts, for the alert's text.
    public var alertLocalizationKey: String?
    /// Names of fields, whose values are the arguments of the text.
    public var alertLocalizationArgs: [Name] = []
    /// A key of the app's localized texts, for the button that opens the app.
    public var alertActionLocalizationKey: String?
    /// The name of an image in the app, shown while it starts from the notification.
    public var alertLaunchImage: String?
    /// The line above the alert's text.
    public var title: String?
    /// A key of the app's localized texts, for the title.
    public var titleLocalizationKey: String?
    /// Like ``alertLocalizationArgs``.
    public var titleLocalizationArgs: [Name] = []
    /// The line between title and text.
    public var subtitle: String?
    /// A key of the app's localized texts, for the subtitle.
    public var subtitleLocalizationKey: String?
    /// Like ``alertLocalizationArgs``.
    public var subtitleLocalizationArgs: [Name] = []
    /// The name of a sound file in the app, or `default`.
    public var soundName: String?
    /// The category of the notification, by which the app shows its own actions.
    public var category: String?
    /// Notifications of one id replace each other on the device. Only for query subscriptions.
    public var collapseIDKey: String?
    /// True to count the notification in the app's badge.
    public var shouldBadge = false
    /// True to wake the app, so that it can fetch.
    public var shouldSendContentAvailable = false
    /// True to let an extension of the app change the notification before it is shown.
    public var shouldSendMutableContent = false
    /// Fields of the record to send along; `desiredKeys` in Apple's framework. Only for query subscriptions.
    public var additionalFields: [Name] = []

    /// A notification without anything to show.
    public init() {}
}

/// One operation on a subscription (Apple's reference page "Modifying Subscriptions").
public enum SubscriptionOperation: Sendable, Hashable {
    /// Adds the subscription, or replaces the one with its id.
    case save(Subscription)
    /// Ends the subscription with this id.
    case delete(Name)

    /// The id of the subscription that is saved or ended.
    public var subscriptionID: Name {
        switch self {
        case .save(let subscription): subscription.subscriptionID
        case .delete(let subscriptionID): subscriptionID
        }
    }
}
