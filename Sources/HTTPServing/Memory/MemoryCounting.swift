internal import Hummingbird
internal import NIOCore

/// Counts the memory use of requests against the server's ``MemoryBudget``.
struct MemoryCounting: RouterMiddleware {
    typealias Context = ServingRequestContext

    let budget: MemoryBudget

    func handle(
        _ request: Request, context: ServingRequestContext, next: (Request, ServingRequestContext) async throws -> Response
    ) async throws -> Response {
        let memory = RequestMemory(of: budget)
        let response = try await RequestMemory.$current.withValue(memory) { try await next(request, context) }
        return memory.hold(response, on: context.channel.eventLoop)
    }
}
