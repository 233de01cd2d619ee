/* What Python sees of the C side. "..." leaves the value to the compiler, which
 * takes it from the header that is first on the include path. */

typedef int32_t XrResult;
typedef uint32_t XrBool32;
typedef ... *XrInstance;
typedef void (*PFN_xrVoidFunction)(void);

#define XR_TYPE_EXTENSION_PROPERTIES ...
#define XR_TYPE_INSTANCE_PROPERTIES ...

typedef struct {
    int32_t type;
    void* next;
    char extensionName[...];
    uint32_t extensionVersion;
    ...;
} XrExtensionProperties;

typedef struct {
    int32_t type;
    void* next;
    uint64_t runtimeVersion;
    char runtimeName[...];
    ...;
} XrInstanceProperties;

typedef XrResult (*OxaGetInstanceProcAddr)(XrInstance, const char*, PFN_xrVoidFunction*);
typedef XrResult (*OxaEnumerateExtensions)(const char*, uint32_t, uint32_t*, XrExtensionProperties*);
typedef XrResult (*OxaGetInstanceProperties)(XrInstance, XrInstanceProperties*);

/* ---- the extension ---- */

#define OXA_HEADER_IS_OURS ...
#define OXA_TYPE_TOOL_PARAMETER ...
#define OXA_TYPE_TOOL_REGISTER_INFO ...
#define OXA_PARAMETER_TYPE_STRING ...
#define OXA_PARAMETER_TYPE_NUMBER ...
#define OXA_PARAMETER_TYPE_BOOLEAN ...
#define OXA_PARAMETER_TYPE_ARRAY ...
#define OXA_PARAMETER_TYPE_OBJECT ...
#define OXA_MAIN_THREAD_BIT ...

static const char* const oxa_extension_name;
static const char* const oxa_register_function_name;

typedef int... OxaFlags;
typedef XrResult (*OxaToolCallback)(char*, uint32_t, uint32_t*, const char*, void*);

typedef struct {
    int32_t type;
    const void* next;
    char paramName[...];
    char paramDescription[...];
    int32_t paramType;
    XrBool32 isRequired;
    int32_t arrayItemType;
    char objectProperties[...];
    ...;
} OxaToolParameter;

typedef struct {
    int32_t type;
    const void* next;
    char toolName[...];
    char toolDescription[...];
    uint32_t toolParameterCount;
    const OxaToolParameter* toolParameters;
    OxaToolCallback toolCallback;
    OxaFlags toolCallbackInfoFlags;
    void* toolUserData;
    ...;
} OxaToolRegisterInfo;

typedef XrResult (*OxaRegisterTool)(XrInstance, const OxaToolRegisterInfo*);
void oxa_register(OxaRegisterTool function, XrInstance instance, const OxaToolRegisterInfo* info, XrResult* answer);

/* ---- metadata.h ---- */

#define OXA_METADATA_VERSION ...
static const char* const oxa_metadata_function_name;

typedef struct {
    uint32_t size;
    uint32_t version;
    XrResult (*set)(XrInstance, const char*, const char*);
    XrResult (*mark_error)(XrInstance);
    ...;
} OxaToolMetadataInterface;
typedef XrResult (*OxaGetToolMetadataInterface)(XrInstance, uint32_t, const OxaToolMetadataInterface**);

/* ---- exchange.h and trampoline.h ---- */

typedef uintptr_t OxaSlotId;
typedef ... OxaTool;

#define OXA_SIZING_EXACT ...
#define OXA_SIZING_BYTES ...
#define OXA_SIZING_DRY_RUN ...
#define OXA_STAGE_ARGUMENTS ...
#define OXA_STAGE_TOOL ...
#define OXA_STAGE_RESULT ...

typedef struct {
    uint64_t in_flight;
    uint64_t slots;
    uint64_t held_results;
    uint64_t held_bytes;
    uint64_t evicted;
} OxaExchangeStatistics;

extern "Python+C" int32_t oxa_enter_thread(void);

void oxa_python_start(uintptr_t handler, unsigned long main_thread_ident);
OxaTool* oxa_text_tool_new(uintptr_t callback, uintptr_t dry_run, uintptr_t owner);
typedef struct {
    uintptr_t decode, recover, call, dry_run, encode, convert;
} OxaTypedTool;
OxaTool* oxa_typed_tool_new(const OxaTypedTool* parts, uintptr_t owner, uint64_t token);
uint64_t oxa_current_token(void);
void oxa_tool_set_mark(OxaTool* tool, uintptr_t mark_error, XrInstance instance);
void oxa_tool_release(OxaTool* tool);
int oxa_raise_on_return(uintptr_t exception);

int oxa_slot_open(OxaSlotId* slot, OxaTool* tool, int sizing, uint32_t sizing_bytes);
void oxa_slot_close(OxaSlotId slot);
int oxa_slot_replace(OxaSlotId slot, OxaTool* tool, int sizing, uint32_t sizing_bytes);
int oxa_slot_reopen(OxaSlotId slot, OxaTool* tool, int sizing, uint32_t sizing_bytes);
void oxa_slot_free(OxaSlotId slot);
int oxa_slot_is_running(OxaSlotId slot);
int oxa_slot_wait(OxaSlotId slot, int64_t timeout_ns);

XrResult oxa_callback(char* buffer, uint32_t capacity, uint32_t* count, const char* arguments, void* user_data);
void oxa_before_fork(void);
void oxa_after_fork_in_parent(void);
void oxa_after_fork_in_child(void);
int oxa_gate_close(int64_t timeout_ns);
void oxa_set_bounds(uint32_t results_per_slot, uint64_t bytes, int64_t age_ns);
void oxa_exchange_statistics(OxaExchangeStatistics* statistics);
