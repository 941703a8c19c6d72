import ArgumentParser
import CloudKitClient
import Foundation
import HTTPServing
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import Records
import ServiceLifecycle

/// The address on this machine to which a sign-in comes back.
struct CallbackAddress: Sendable {
    static let standard = "http://127.0.0.1:8181"

    let host: String
    let port: Int

    /// - Throws: `ValidationError` unless it is an http address of this machine.
    init(_ text: String) throws {
        guard let parts = URLComponents(string: text), parts.scheme?.lowercased() == "http", let host = parts.host, Loopback.contains(host),
            (1...65535).contains(parts.port ?? 80), parts.user == nil, parts.password == nil
        else {
            throw ValidationError("--callback is an http address of this machine, such as \(Self.standard), not '\(text)'.")
        }
        self.host = host
        port = parts.port ?? 80
    }

    /// Scheme, host and port.
    var origin: String { "http://\(TrustedSites.asHost(host))\(port == 80 ? "" : ":\(port)")" }
    /// The address to listen on.
    var listeningHost: String { host.lowercased() == "localhost" ? "127.0.0.1" : host.trimmingCharacters(in: CharacterSet(charactersIn: "[]")) }
}

/// Waits for the answer of a sign-in, on an address of this machine that other sites can't read.
enum SignInListener {
    private static let bodyLimit = 1 << 16

    /// Serves a page until the sign-in has ended.
    /// - Parameters:
    ///   - port: 0 picks a free one.
    ///   - limit: the time to sign in. iCloud's page is good for 14 minutes.
    ///   - listening: is told the port. The server answers while it runs.
    /// - Throws: `CommandFailure` if the port is in use, or nobody signs in; errors of `listening`.
    static func answer(
        to page: SignInPage, on host: String, port: Int, within limit: Duration = .seconds(840), listening: (Int) async throws -> Void
    ) async throws -> SignInAnswer {
        let (answers, answered) = AsyncStream.makeStream(of: SignInAnswer.self, bufferingPolicy: .bufferingOldest(1))
        let (ports, opened) = AsyncStream.makeStream(of: Int.self)
        let routes = Routes()
        routes.addGuards(trusting: .loopback)
        routes.group { request, context, next in try await next(request, context) }.otherwise { request, _ in
            let body = request.method == .post ? String(decoding: try await request.bodyBytes(limit: bodyLimit), as: UTF8.self) : ""
            let (response, answer) = page.response(to: request.method, request.head.path ?? "/", body: body)
            if let answer { answered.yield(answer) }
            return response
        }
        var logger = Logger(label: "skylight.sign-in")
        logger.logLevel = .critical
        let application = Application(
            responder: routes.buildResponder(), server: .guardedHTTP1(), configuration: ApplicationConfiguration(address: .hostname(host, port: port)),
            onServerRunning: { channel in opened.yield(channel.localAddress?.port ?? port) }, logger: logger)
        var configuration = ServiceGroupConfiguration(services: [application], logger: logger)
        configuration.maximumGracefulShutdownDuration = .seconds(2)
        let group = ServiceGroup(configuration: configuration)
        async let running: Void = run(group, on: host, port, opened)
        var outcome: Result<SignInAnswer?, any Error> = .success(nil)
        for await port in ports {
            let timer = Task {
                try? await Task.sleep(for: limit)
                answered.finish()
            }
            do {
                try await listening(port)
                outcome = .success(await answers.first { _ in true })
            } catch {
                outcome = .failure(error)
            }
            timer.cancel()
            // The shutdown lets the answer to the browser go out. A cancellation would not.
            await group.triggerGracefulShutdown()
        }
        try await running
        guard let answer = try outcome.get() else {
            throw CommandFailure(.failed, "Nobody signed in", code: "SIGN_IN_TIMEOUT", remedy: "Run the command again")
        }
        return answer
    }

    private static func run(_ group: ServiceGroup, on host: String, _ port: Int, _ opened: AsyncStream<Int>.Continuation) async throws {
        defer { opened.finish() }
        do {
            try await group.run()
        } catch let error as IOError {
            throw CommandFailure(
                .unavailable, "The sign-in can't come back to port \(port) of \(host): \(error.errnoCode == EADDRINUSE ? "it is in use" : "\(error)")",
                remedy: "Give another address with --callback, and the same one to the API token")
        }
    }
}
