import LoopbackServing
import Synchronization

/// The tokens that were handed over before each request.
final class KeptBefore: Sendable {
    private let lists = Mutex<[[String]]>([])
    var all: [[String]] { lists.withLock { $0 } }
    func note(_ tokens: [String]) { lists.withLock { $0.append(tokens) } }
}

/// A server that takes each web auth token once.
final class OneTimeTokens: Sendable {
    private let state: Mutex<(current: String, good: Int)>

    init(first: String) {
        state = Mutex((first, 0))
    }

    /// The number of requests that were carried out.
    var good: Int { state.withLock { $0.good } }

    func answer(_ token: String) -> ScriptedServer.Reply {
        state.withLock { state in
            guard token == state.current else { return .error("AUTHENTICATION_REQUIRED", status: 421) }
            state.good += 1
            state.current = "token\(state.good)"
            return .json(
                #"{"zones":[],"records":[{"recordName":"r","recordType":"T"}]}"#,
                ["X-Apple-CloudKit-Web-Auth-Token": state.current])
        }
    }
}
