"""Reserved names: what C, C++, CUDA C and their libraries call something of their own."""

from __future__ import annotations

import re

_KEYWORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const
constexpr continue decltype default delete do double dynamic_cast else enum explicit export extern
false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr
operator or or_eq private protected public register reinterpret_cast restrict return short signed
sizeof static static_assert static_cast struct switch template this thread_local throw true try
typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
"""
# Of the headers of C, POSIX and CUDA, but for endings and families.
_LIBRARY = """
I a64l abort abs access acct acos acosh alarm aligned_alloc all alloca any arc4random
arc4random_buf arc4random_uniform asctime asin asinh asprintf at_quick_exit atan atan2 atanh
atexit atof atoi atol ballot basename bcmp bcopy be16toh be32toh be64toh blockDim blockIdx brk
bsearch bzero calloc canonicalize canonicalize_file_name cbrt ceil chdir chown chroot clearenv
clearerr clock close closefrom confstr copysign cos cosh cospi crypt ctermid ctime cuserid
cyl_bessel_i0 cyl_bessel_i1 dadd daemon daylight ddivl dfmal difftime dim3 div dmul dprintf
drand48 drem dsqrtl dsub dup dup2 dysize ecvt endusershell erand48 erf erfc erfcinv erfcxf erfinv
errno execl execle execlp execv execve execvp exit exp exp10 exp2 explicit_bzero expm1 fabs
faccessat fadd fchdir fchown fchownat fclose fcloseall fcvt fd_mask fd_set fdatasync fdim fdiv
fdivide fdopen feof ferror fexecve fflush ffma ffs fgetc fgetpos fgets fileno finite flockfile
floor fma fmaxf fmaximum fmaximum_mag fmaximum_mag_num fmaximum_num fmaxl fmaxmag fmemopen fmin
fminimum fminimum_mag fminimum_mag_num fminimum_num fminmag fmod fmul fopen fopencookie fork
fpathconf fpclassify fprintf fputc fputs fread free freopen frexp fromfp fromfpxf fromfpxl fscanf
fseek fseeko fsetpos fsqrt fsub fsync ftell ftello ftruncate ftrylockfile funlockfile fwrite gamma
gcvt getc getchar getcwd getdate getdate_err getdelim getdomainname getdtablesize getegid
getentropy getenv geteuid getgid getgroups gethostid gethostname getline getloadavg getlogin
getopt getpagesize getpass getpayload getpgid getpgrp getpid getppid getpt getsid getsubopt getuid
getusershell getw getwd gmtime grantpt gridDim htobe16 htobe32 htobe64 htole16 htole32 htole64
hypot ilogb index initstate isalnum isalpha isascii isatty isblank iscntrl isctype isdigit
isfinite isgraph isgreater isgreaterequal isinf isless islessequal islessgreater islower isnan
isnormal isprint ispunct isspace isunordered isupper isxdigit itimerspec j0 j1 jn jrand48 l64a
labs lchown lcong48 ldexp ldiv le16toh le32toh le64toh lgamma libraryPropertyType link linkat
linux ll2double llabs lldiv llmax llmin llogb llrint llround localtime lockf log log10 log1p log2
logb lrand48 lrint lround lseek main malloc math_errhandling max mblen mbstowcs mbtowc memccpy
memchr memcmp memcpy memfrob memmem memmove mempcpy memrchr memset min mkdtemp mkostemp mkostemps
mkstemp mkstemps mktemp mktime modf mrand48 nan nanosleep nearbyint nextafter nextdown nexttoward
nextup nice norm norm3d norm4d normcdf normcdfinv nrand48 obstack obstack_printf obstack_vprintf
offsetof on_exit open_memstream optarg opterr optind optopt pathconf pause pclose perror pipe
popen posix_memalign posix_openpt pow pread printf profil pselect ptsname putc putchar putenv puts
putw pwrite qecvt qfcvt qgcvt qsort quick_exit raise rand random rawmemchr rcbrt read readlink
readlinkat realloc reallocarray realpath remainder remove remquo rename renameat renameat2 revoke
rewind rhypot rindex rint rmdir rnorm rnorm3d rnorm4d round roundeven rpmatch rsqrt sbrk scalb
scalbln scalbn scanf secure_getenv seed48 select setbuf setbuffer setdomainname setegid setenv
seteuid setgid sethostid sethostname setlinebuf setlogin setpayload setpayloadsig setpgid setpgrp
setregid setreuid setsid setstate setuid setusershell setvbuf sigevent signal signbit signgam
significand sin sincos sincospi sinh sinpi sleep snprintf sprintf sqrt srand srand48 srandom
sscanf std stderr stdin stdout stpcpy stpncpy strcasecmp strcasestr strcat strchr strchrnul strcmp
strcoll strcpy strcspn strdup strerror strfromd strfromf strfroml strfry strftime strlen
strncasecmp strncat strncmp strncpy strndup strnlen strpbrk strptime strrchr strsep strsignal
strspn strstr strtod strtof strtok strtol strtold strtoq strtoul strtouq strverscmp strxfrm
symlink symlinkat sync syscall sysconf system tan tanh tcgetpgrp tcsetpgrp tempnam tgamma
threadIdx time timegm timelocal timespec timespec_get timespec_getres timeval timezone tm tmpfile
tmpnam toascii tolower totalorder totalordermag toupper trunc truncate ttyname ttyslot tzname
tzset u_char u_int u_long u_short ualarm ufromfp ufromfpxf ufromfpxl uint ull2double ullmax ullmin
ulong umax umin ungetc unix unlink unlinkat unlockpt unsetenv ushort usleep va_list valloc
vasprintf vdprintf vfork vfprintf vfscanf vhangup vprintf vscanf vsnprintf vsprintf vsscanf
warpSize wcstombs wctomb write y0 y1 yn
"""
_ENDINGS = r"(?:f|l|ll)?(?:32|64)?x?(?:_[rl]|_unlocked|_data)?"  # of other types, and so on
_FAMILIES = (
    r"(?:FC|FUSECUDA|clock|fc|make|pthread|sched|syncthreads|timer)_\w+",
    r"CU[A-Z]*[a-z]\w*|cu[A-Z]\w*|cuda[A-Zl]\w*|(?:atomic|tex|surf)[A-Z]\w*|(?:tex|surf)[123]D\w*",
    r"f(?:32|64)x?(?:add|sub|mul|div|fma|sqrt)f\d\w+",
    r"u?(?:char|short|int|long|longlong|float|double)\d\w*|\w\w+_(?:t|np)",
    r"[A-Z][A-Z\d]*_[A-Z\d_]+|[A-Z]{3,}\d*",  # macros
    r"\w+_[\da-f]{12}\w*",  # kernels
)
_WORDS = "|".join(f"{_KEYWORDS} {_LIBRARY}".split())
_RESERVED = re.compile(rf"(?:{_WORDS}){_ENDINGS}|{'|'.join(_FAMILIES)}")


def c_name(name: str) -> str:
    """``name`` as an identifier that C, C++, CUDA C and their libraries leave free.

    It never begins with ``fc_``, as all does that stands beside it in what is generated.
    """
    made = re.sub(r"[^0-9A-Za-z_]+", "_", name).strip("_") or "function"
    if made[0].isdigit():
        made = f"f_{made}"
    return f"{made}_" if _RESERVED.fullmatch(made) else made
