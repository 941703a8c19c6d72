internal import Foundation

/// How urgent an operation is. It decides the order of requests, how many there are at once, and what a broken
/// connection means.
public enum QualityOfService: Int, Sendable, Hashable, Comparable, CaseIterable {
    /// One request at a time, after all others. Waits for the network.
    case background
    /// Leaves one request for what a user waits for. Waits for the network. The default of operations.
    case utility
    /// A user waits for it: a connection that fails for the time of one request is an error. The default of the calls
    /// of ``Database``.
    case userInitiated
    /// Before everything else. Otherwise as `userInitiated`.
    case userInteractive

    public static func < (left: QualityOfService, right: QualityOfService) -> Bool { left.rawValue < right.rawValue }

    /// True if broken connections are waited out until the time of the whole operation is over.
    var isDiscretionary: Bool { self <= .utility }

    var taskPriority: TaskPriority {
        switch self {
        case .background: .background
        case .utility: .utility
        case .userInitiated: .medium
        case .userInteractive: .high
        }
    }
}

/// The order among operations of one quality of service.
public enum QueuePriority: Int, Sendable, Hashable, Comparable, CaseIterable {
    /// From the last to the first.
    case veryLow, low, normal, high, veryHigh

    public static func < (left: QueuePriority, right: QueuePriority) -> Bool { left.rawValue < right.rawValue }
}

/// The configuration of an operation. A property that is `nil` comes from the operation's group, and then has
/// CloudKit's default.
///
/// `allowsCellularAccess` of CloudKit is missing: a program on Linux cannot tell.
public struct OperationConfiguration: Sendable, Hashable {
    /// The order among all operations, and their patience; `nil` for the group's, or the default.
    public var qualityOfService: QualityOfService?
    /// The order within one quality of service; `nil` for the group's, or `normal`.
    public var queuePriority: QueuePriority?
    /// The time for a request with its repetitions; 60 seconds.
    public var timeoutIntervalForRequest: Duration?
    /// The time for the whole operation with its files, from its first request; seven days.
    public var timeoutIntervalForResource: Duration?

    /// A configuration; `nil` leaves a property to the group, or to the default.
    public init(
        qualityOfService: QualityOfService? = nil, queuePriority: QueuePriority? = nil,
        timeoutIntervalForRequest: Duration? = nil,
        timeoutIntervalForResource: Duration? = nil
    ) {
        self.qualityOfService = qualityOfService
        self.queuePriority = queuePriority
        self.timeoutIntervalForRequest = timeoutIntervalForRequest
        self.timeoutIntervalForResource = timeoutIntervalForResource
    }

    /// The same, with what is missing from another one.
    func or(_ other: OperationConfiguration?) -> OperationConfiguration {
        OperationConfiguration(
            qualityOfService: qualityOfService ?? other?.qualityOfService,
            queuePriority: queuePriority ?? other?.queuePriority,
            timeoutIntervalForRequest: timeoutIntervalForRequest ?? other?.timeoutIntervalForRequest,
            timeoutIntervalForResource: timeoutIntervalForResource ?? other?.timeoutIntervalForResource)
    }
}

/// Operations that belong together, such as those of one sync. They share a configuration; a group is no transaction.
public struct OperationGroup: Sendable, Hashable {
    /// The number of bytes that a group expects, as CloudKit tells it apart.
    public enum TransferSize: Int, Sendable, Hashable, CaseIterable {
        /// From nothing known to hundreds of gigabytes.
        case unknown, kilobytes, megabytes, tensOfMegabytes, hundredsOfMegabytes, gigabytes, tensOfGigabytes,
            hundredsOfGigabytes
    }

    /// A new UUID for each group.
    public let operationGroupID: String
    /// For people, such as `First launch`.
    public var name: String?
    /// The number of things that the operations are about, as the app counts them.
    public var quantity: Int?
    /// An estimate of the bytes to send. It has no effect here.
    public var expectedSendSize = TransferSize.unknown
    /// An estimate of the bytes to receive. It has no effect here.
    public var expectedReceiveSize = TransferSize.unknown
    /// For operations that leave a property out.
    public var defaultConfiguration: OperationConfiguration

    /// A group with a new ID.
    public init(name: String? = nil, defaultConfiguration: OperationConfiguration = OperationConfiguration()) {
        operationGroupID = UUID().uuidString
        self.name = name
        self.defaultConfiguration = defaultConfiguration
    }
}
