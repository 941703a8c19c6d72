public import CloudKitClient
public import Foundation
public import Records

/// A container: its databases, and the order of requests among all their operations. A program needs one for each environment and user.
public final class Container: Sendable {
    /// The connection to the server.
    public let client: ContainerClient
    let scheduler: RequestScheduler
    let longLived: LongLivedStore?

    /// - Parameters:
    ///   - client: the connection to iCloud, or to a Skylight. The caller closes it.
    ///   - maximumConcurrentRequests: the number of requests at once.
    public init(_ client: ContainerClient, maximumConcurrentRequests: Int = 4) {
        self.client = client
        scheduler = RequestScheduler(limit: maximumConcurrentRequests)
        longLived = nil
    }

    /// A container with long-lived operations.
    /// - Parameters:
    ///   - client: the connection to iCloud, or to a Skylight. The caller closes it.
    ///   - maximumConcurrentRequests: the number of requests at once.
    ///   - file: the SQLite file for them. It belongs to one container, environment and user, and one container at a time has it open.
    /// - Throws: an error of SQLite; ``OperationError`` if the file stays open elsewhere for 2 seconds.
    public init(_ client: ContainerClient, maximumConcurrentRequests: Int = 4, longLivedOperationsIn file: URL) async throws {
        self.client = client
        scheduler = RequestScheduler(limit: maximumConcurrentRequests)
        longLived = try await LongLivedStore(file, now: client.pacing.time())
    }

    /// The identifier, such as `iCloud.com.example.App`.
    public var containerID: ContainerID { client.container }
    /// One database for all users of the app.
    public var publicCloudDatabase: Database { Database(self, .public) }
    /// The user's own database.
    public var privateCloudDatabase: Database { Database(self, .private) }
    /// The zones and records that others share with the user.
    public var sharedCloudDatabase: Database { Database(self, .shared) }

    /// The database of a scope.
    public func database(with scope: DatabaseScope) -> Database { Database(self, scope) }

    /// If somebody is signed in.
    public enum AccountStatus: Int, Sendable, Hashable, CaseIterable {
        /// The server could not be asked.
        case couldNotDetermine
        /// Somebody is signed in.
        case available
        /// The user may not use iCloud.
        case restricted
        /// Nobody is signed in.
        case noAccount
        /// The account is there, but does not work now.
        case temporarilyUnavailable
    }

    /// Asks the server if somebody is signed in. `restricted` and `temporarilyUnavailable` are there for code that compares them: the web protocol
    /// does not tell them.
    /// - Throws: ``OperationError`` other than `notAuthenticated`.
    public func accountStatus() async throws(OperationError) -> AccountStatus {
        do throws(OperationError) {
            _ = try await userRecordID()
            return .available
        } catch {
            if error.code == .notAuthenticated { return .noAccount }
            throw error
        }
    }

    /// The user who is signed in.
    /// - Throws: ``OperationError``: `notAuthenticated` if nobody is.
    public func userRecordID() async throws(OperationError) -> RecordID {
        let user: ReceivedUser
        do {
            user = try await client.database(.public).caller()
        } catch {
            throw OperationError(any: error)
        }
        guard let name = user.userRecordName else { throw OperationError(.notAuthenticated, "The server does not tell the user's name") }
        return RecordID(recordName: name)
    }
}
